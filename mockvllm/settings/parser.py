"""From a command line to `Settings`, by vLLM's rules."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import Field
from functools import cache
from types import MappingProxyType
from typing import Any, NoReturn

from mockvllm.settings import arguments, sources, words
from mockvllm.settings.checks import check
from mockvllm.settings.environment import Environment
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.ignored import IGNORED
from mockvllm.settings.knob import knob_of
from mockvllm.settings.notes import notes
from mockvllm.settings.record import GROUPS, Settings, knobs

EMPTY: Mapping[str, str] = MappingProxyType({})
DECLARED: dict[str, Field[Any]] = {declared.name: declared for group in GROUPS for declared in knobs(group)}


class Parser(argparse.ArgumentParser):
    """An argparse parser whose errors are SettingsErrors of one line."""

    def error(self, message: str) -> NoReturn:
        raise SettingsError(message)

    @property
    def options(self) -> Mapping[str, argparse.Action]:
        """Every spelling of every flag."""
        return self._option_string_actions


@cache
def build() -> Parser:
    """The parser of all declared and all ignored options; what was not given leaves no trace in its namespace."""
    # argparse asks for a formatter with every argument, and each one asks for the size of the terminal
    formatter = argparse.HelpFormatter("mockvllm serve")
    parser = Parser(
        add_help=False, allow_abbrev=False, argument_default=argparse.SUPPRESS, formatter_class=lambda prog: formatter
    )
    parser.add_argument("--model", dest="model_tag", type=str)
    for declared in DECLARED.values():
        arguments.add(parser, declared)
    for options in IGNORED.values():
        for key, default in options.items():
            arguments.add_ignored(parser, key, default)
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
    file = sources.config_words(sources.read_config(path), parser.options) if path else ()
    told = [*file, *own]
    given, rest = parser.parse_known_args(words.fold([*sources.environment_words(environ, parser.options), *told]))
    model = _positional(rest, parser)
    return _record(vars(given) | ({"model_tag": model} if model is not None else {}), own, told, environ)


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


def _record(values: Mapping[str, Any], own: Sequence[str], told: Sequence[str], environ: Mapping[str, str]) -> Settings:
    """Given values, defaults of the profile, then defaults."""
    profile, step_time = (values.get(name, DECLARED[name].default) for name in ("profile", "step_time"))
    known = {
        name: knob_of(declared).by_profile[profile]
        for name, declared in DECLARED.items()
        if profile in knob_of(declared).by_profile
    }
    known |= {name: _frozen(value) for name, value in values.items() if name in DECLARED or name == "model_tag"}
    ignored = {name: value for name, value in values.items() if name not in known}
    return Settings(**known, ignored=ignored, notes=tuple(notes(values, [*ignored], own, told, step_time, environ)))


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
