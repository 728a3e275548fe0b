"""From a command line to `Settings`, by vLLM's rules."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import Field
from types import MappingProxyType
from typing import Any, NoReturn

from mockvllm.settings import arguments, sources, words
from mockvllm.settings.checks import check
from mockvllm.settings.environment import Environment
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.ignored import IGNORED
from mockvllm.settings.knob import knob_of
from mockvllm.settings.record import GROUPS, Settings, knobs

EMPTY: Mapping[str, str] = MappingProxyType({})
DECLARED: dict[str, Field[Any]] = {declared.name: declared for group in GROUPS for declared in knobs(group)}
MODEL_FLAG = (
    "With `vllm serve`, you should provide the model as a positional argument or in a config file instead of via "
    "the `--model` option. The `--model` option will be removed in a future version."
)


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are SettingsErrors of one line."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(message)

    @property
    def options(self) -> Mapping[str, argparse.Action]:
        """Every spelling of every flag."""
        return self._option_string_actions


def build() -> Parser:
    """The parser of all declared and all ignored options; what was not given leaves no trace in its namespace."""
    # argparse asks for a formatter with every argument, and each one asks for the size of the terminal
    formatter = argparse.HelpFormatter("mockvllm serve")
    parser = Parser(add_help=False, argument_default=argparse.SUPPRESS, formatter_class=lambda prog: formatter)
    parser.add_argument("--model", dest="model_tag", type=str)
    for declared in DECLARED.values():
        arguments.add(parser, declared)
    for options in IGNORED.values():
        for name, default in options.items():
            arguments.add_ignored(parser, f"--{name}", default)
    return parser


def load(argv: Sequence[str], environ: Mapping[str, str]) -> tuple[Settings, Environment]:
    """Settings and environment, checked against each other. Raises SettingsError: one line, flag and value."""
    env = Environment.read(environ)
    settings = parse(argv, environ)
    check(settings, env)
    return settings, env


def parse(argv: Sequence[str], environ: Mapping[str, str] = EMPTY) -> Settings:
    """Settings of a command line (without the command). The command line wins over the file, the file over the
    environment. Each value is of its type; whether the values go together is `check`'s business.
    """
    parser = build()
    own = words.plain(argv)
    path = sources.config_path(own)
    file = list(sources.config_words(sources.read_config(path), parser.options)) if path else []
    given, rest = parser.parse_known_args(
        words.fold([*sources.environment_words(environ, parser.options), *file, *own])
    )
    values = vars(given)
    named = "model_tag" in values and any(word.partition("=")[0] == "--model" for word in own)
    model = _positional(rest, parser)
    if model is not None:
        values["model_tag"] = model
    return _settings(values, _notes(named, words.repeated([*file, *own])))


def _positional(rest: Sequence[str], parser: Parser) -> str | None:
    """MODEL, if it is all that was left over."""
    unknown = [word for word in rest if word.startswith("-") and word != "--"]
    if unknown:
        raise SettingsError(f"unrecognized arguments: {' '.join(unknown)}{_suggestion(unknown[0], parser)}")
    models = [word for word in rest if word != "--"]
    if len(models) > 1:
        raise SettingsError(f"unrecognized arguments: {' '.join(models[1:])} (MODEL is {models[0]})")
    return models[0] if models else None


def _suggestion(word: str, parser: Parser) -> str:
    import difflib  # only who mistypes pays for the import

    close = difflib.get_close_matches(word.partition("=")[0], parser.options, 1)
    return f" (did you mean {close[0]}?)" if close else ""


def _notes(model_flag: bool, repeated: Sequence[str]) -> tuple[str, ...]:
    notes = [MODEL_FLAG] if model_flag else []
    return (*notes, *([f"Found duplicate keys {', '.join(repeated)}"] if repeated else []))


def _settings(values: Mapping[str, Any], notes: tuple[str, ...]) -> Settings:
    """The record: given values, defaults of the profile, then defaults."""
    profile = values.get("profile", Settings.profile)
    known = {
        name: by_profile(declared)[profile] for name, declared in DECLARED.items() if profile in by_profile(declared)
    }
    known |= {name: _frozen(value) for name, value in values.items() if name in DECLARED or name == "model_tag"}
    ignored = {name: value for name, value in values.items() if name not in known}
    if ignored:
        flags = ", ".join("--" + name.replace("_", "-") for name in ignored)
        notes = (*notes, f"accepted and ignored: {flags}")
    return Settings(**known, ignored=ignored, notes=notes)


def by_profile(declared: Field[Any]) -> Mapping[str, Any]:
    """Defaults of the releases that differ from the newest."""
    return knob_of(declared).by_profile


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
