"""Where flags come from besides the command line: a YAML file and the environment. Both become words in front of it."""

import json
from argparse import Action
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockvllm.settings.arguments import Toggle
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.knob import flag_of
from mockvllm.settings.mock import Mock
from mockvllm.settings.record import knobs

SWITCHED = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def config_path(words: Sequence[str]) -> str | None:
    """The file named by `--config`. Raises SettingsError, with vLLM's texts, for two files or none behind the flag."""
    paths = [word.partition("=")[2] for word in words if word.startswith("--config=")]
    places = [place for place, word in enumerate(words) if word == "--config"]
    if any(place + 1 == len(words) for place in places):
        raise SettingsError("No config file specified! Please check your command-line arguments.")
    paths += [words[place + 1] for place in places]
    if len(paths) > 1:
        raise SettingsError(f"More than one config file specified! --config {', '.join(paths)}")
    return paths[0] if paths else None


def read_config(path: str) -> Mapping[str, Any]:
    """The flags of a YAML file: keys are long flags without dashes. Raises SettingsError as vLLM words it."""
    extension = path.rpartition(".")[2]
    if extension not in ("yaml", "yml"):
        raise SettingsError(f"Config file must be of a yaml/yml type. {extension} supplied")
    from pathlib import Path  # only who has such a file pays for these imports

    import yaml

    try:
        content = yaml.safe_load(Path(path).read_text("utf-8")) or {}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        reason = " ".join(str(error).split())
        raise SettingsError(f"Unable to read the config file at {path}. Check path correctness ({reason})") from None
    if not isinstance(content, dict):
        raise SettingsError(f"--config {path}: must hold keys and values, not {type(content).__name__}")
    return {str(key): value for key, value in content.items()}


def config_words(content: Mapping[str, Any], options: Mapping[str, Action]) -> Iterator[str]:
    """The words that say the same as the file."""
    for key, value in content.items():
        flag = flag_of(key)
        action = options.get(flag)
        if isinstance(value, bool):
            yield from _switched(flag, value, options)
        elif isinstance(value, list) and action is not None and action.nargs == "+":
            yield from [flag, *map(str, value)] if value else []
        elif isinstance(value, list | dict):
            yield f"{flag}={json.dumps(value)}"
        else:
            yield f"{flag}={value}"


def _switched(flag: str, on: bool, options: Mapping[str, Action]) -> Iterator[str]:
    """`--x`, or `--no-x` where that exists; otherwise false says nothing, as in vLLM."""
    negative = f"--no-{flag[2:]}"
    if on:
        yield flag
    elif negative in options:
        yield negative


def environment_words(environ: Mapping[str, str], options: Mapping[str, Action]) -> Iterator[str]:
    """Our own options as `MOCKVLLM_<NAME>`.

    vLLM's options have no such form: Kubernetes sets MOCKVLLM_PORT and the like for a service called mockvllm.
    """
    for declared in knobs(Mock):
        variable = f"MOCKVLLM_{declared.name.upper()}"
        if variable not in environ:
            continue
        flag, text = flag_of(declared.name), environ[variable]
        if not isinstance(options[flag], Toggle):
            yield f"{flag}={text}"
        elif text.strip().lower() in SWITCHED:
            yield from _switched(flag, SWITCHED[text.strip().lower()], options)
        else:
            raise SettingsError(f"{variable}: must be true or false, not {text!r}")
