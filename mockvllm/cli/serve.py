"""`mockvllm serve`: vLLM's flags and ours, then the server."""

import os
import sys
from collections.abc import Sequence

from mockvllm.settings import SettingsError, load


def main(argv: Sequence[str]) -> int:
    """Serve until stopped. Returns the exit status; 2 for flags that cannot be, with one line that says why."""
    word = help_word(argv)
    if word is not None:
        from mockvllm.settings.help import help_text

        print(help_text(word))
        return 0
    try:
        settings, env = load(argv, os.environ)
    except SettingsError as error:
        print(f"mockvllm serve: error: {error}   (mockvllm serve --help)", file=sys.stderr)
        return 2
    from mockvllm.server import run

    return run(settings, env)


def help_word(argv: Sequence[str]) -> str | None:
    """What help was asked for: the word of `--help=<word>`, `""` for plain `--help`, None for no help."""
    for argument in argv:
        if argument in ("-h", "--help") or argument.startswith("--help="):
            return argument.partition("=")[2]
    return None
