"""`mockvllm serve`: vLLM's flags and ours, then the server."""

import os
import sys
from collections.abc import Sequence

from mockvllm.settings import SettingsError, load

USAGE = "usage: mockvllm serve [MODEL] [flags]   (mockvllm serve --help)"


def main(argv: Sequence[str]) -> int:
    """Serve until stopped. Returns the exit status; 2 for flags that cannot be, with one line that says why."""
    try:
        settings, env = load(argv, os.environ)
    except SettingsError as error:
        print(f"{USAGE}\nmockvllm serve: error: {error}", file=sys.stderr)
        return 2
    from mockvllm.server import run

    return run(settings, env)
