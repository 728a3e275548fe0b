"""Which characters a class or an escape of a regular expression stands for."""

import re
import string
import unicodedata
from collections.abc import Callable
from itertools import chain

Class = Callable[[str], bool]
PREFERRED = string.ascii_lowercase + string.digits + string.ascii_uppercase
_SURROGATES = range(0xD800, 0xE000)
_SOME = (*range(32, 127), 9, 10, 13, *range(160, 592), *range(592, 0x20000, 64))
"""Of ASCII and Latin all that can be seen, of the rest of Unicode a few of each script."""
_CHARACTERS = PREFERRED + "".join(chr(code) for code in _SOME if code not in _SURROGATES)

_CLASSES: dict[str, Class] = {
    "d": string.digits.__contains__,
    "w": (string.ascii_letters + string.digits + "_").__contains__,
    "s": str.isspace,
}
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "0": "\0"}
_CODE = re.compile(r"x([0-9A-Fa-f]{2})|u([0-9A-Fa-f]{4})|[ux]\{([0-9A-Fa-f]+)\}")
_PROPERTY = re.compile(r"[pP]\{(?:\w+=)?(\w+)\}")


def pick(wanted: Class, first: str) -> str:
    """A character of the class, the first of `first` if that is one. Raises ValueError if there is none in sight."""
    for character in chain(first, _CHARACTERS):
        if wanted(character):
            return character
    raise ValueError("an empty class")


def bracket(pattern: str, at: int) -> tuple[Class, int]:
    """What a class that begins before `at` stands for, and where it is over. Raises IndexError if it never is."""
    negated = pattern.startswith("^", at)
    at += negated
    members: list[Class] = []
    while pattern[at] != "]":
        low, at = _member(pattern, at)
        high = low
        if pattern.startswith("-", at) and not pattern.startswith("-]", at):
            high, at = _member(pattern, at + 1)
        members.append(_between(low, high) if isinstance(low, str) and isinstance(high, str) else _any_of(low, high))
    return _negated(lambda character: any(member(character) for member in members), negated), at + 1


def escape(pattern: str, at: int) -> tuple[str | Class, int]:
    """What stands behind a backslash, and where it is over."""
    named, code = _PROPERTY.match(pattern, at), _CODE.match(pattern, at)
    if named:
        return _negated(_category(named[1]), pattern[at] == "P"), named.end()
    if code:
        return chr(int(code[1] or code[2] or code[3], 16)), code.end()
    character = pattern[at]
    if character.lower() in _CLASSES:
        return _negated(_CLASSES[character.lower()], character.isupper()), at + 1
    return _CONTROLS.get(character, character), at + 1


def _member(pattern: str, at: int) -> tuple[str | Class, int]:
    return escape(pattern, at + 1) if pattern[at] == "\\" else (pattern[at], at + 1)


def _between(low: str, high: str) -> Class:
    return lambda character: low <= character <= high


def _any_of(*members: str | Class) -> Class:
    classes = [member.__contains__ if isinstance(member, str) else member for member in members]
    return lambda character: any(is_one(character) for is_one in classes)


def _negated(wanted: Class, negated: bool) -> Class:
    return (lambda character: not wanted(character)) if negated else wanted


def _category(name: str) -> Class:
    """A category of Unicode by its short name; of a long one the first letter, which is nearly always that."""
    prefix = name if len(name) <= len("Lu") else name[0]
    return lambda character: unicodedata.category(character).startswith(prefix)
