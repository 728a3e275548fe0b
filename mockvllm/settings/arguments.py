"""From a declared field to an argument of argparse."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

from mockvllm.settings.ignored import flags_of, name_of
from mockvllm.settings.knob import Knob, flag_of, knob_of
from mockvllm.settings.values import json_object, literal, optional, whole

READERS: dict[Any, Callable[[str], Any]] = {int: whole, Mapping: json_object}


class Toggle(argparse.Action):
    """A flag without a value: true, or false by one of its negative forms."""

    def __init__(self, option_strings: Sequence[str], dest: str, negatives: Sequence[str] = (), **rest: Any) -> None:
        super().__init__([*option_strings, *negatives], dest, nargs=0, **rest)
        self.negatives = frozenset(negatives)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: object,
        option_string: str | None = None,
    ) -> None:
        setattr(namespace, self.dest, option_string not in self.negatives)


def negatives(flag: str) -> tuple[str, ...]:
    """The forms that switch a flag off, the one that help shows first (vLLM 0.33; the others are those of 0.30)."""
    for prefix, opposite in (("--enable-", "--disable-"), ("--disable-", "--enable-")):
        if flag.startswith(prefix):
            return opposite + flag.removeprefix(prefix), "--no-" + flag[2:]
    return ("--no-" + flag[2:],)


def split_optional(annotation: Any) -> tuple[Any, bool]:
    """The type without `None`, and whether `None` was in it."""
    if isinstance(annotation, UnionType) or NoneType in get_args(annotation):
        kinds = [kind for kind in get_args(annotation) if kind is not NoneType]
        return kinds[0], NoneType in get_args(annotation)
    return annotation, False


def add(parser: argparse.ArgumentParser, declared: Field[Any]) -> None:
    """Declare one knob to the parser."""
    flag, declaration = flag_of(declared.name), knob_of(declared)
    kind, is_optional = split_optional(declared.type)
    if kind is bool:
        off = () if declaration.switch else negatives(flag)
        parser.add_argument(flag, *declaration.aliases, dest=declared.name, action=Toggle, negatives=off)
    else:
        how = _reading(kind, is_optional, declaration)
        parser.add_argument(flag, *declaration.aliases, dest=declared.name, **how)


def _reading(kind: Any, is_optional: bool, declaration: Knob) -> dict[str, Any]:
    """`type`, `nargs` and `choices` of an argument that takes values."""
    origin = get_origin(kind) or kind
    if origin is tuple and not declaration.json:
        return {"nargs": "+", "type": declaration.parse or str}
    choices = get_args(kind) if origin is Literal else None
    plain = type(choices[0]) if choices else origin
    read = declaration.parse or READERS.get(plain, plain)
    allowed = (*choices, None) if choices and is_optional else choices
    return {"type": optional(read) if is_optional else read, "choices": allowed}


def add_ignored(parser: argparse.ArgumentParser, key: str, default: Any) -> None:
    """Declare an option of vLLM's that is accepted and does nothing; the type of its default says what follows it."""
    kind = default if isinstance(default, type) else type(default)
    flags, name = flags_of(key), name_of(key)
    if kind is bool:
        parser.add_argument(*flags, dest=name, action=Toggle, negatives=negatives(flags[0]))
    else:
        parser.add_argument(*flags, dest=name, nargs="*" if kind is list else "?", type=literal)
