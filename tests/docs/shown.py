"""Whether a command printed what a page shows."""

import re

ANYTHING = re.compile(r"\.\.\.(?!\.)|\0")  # of `0....` the last three
LINE_OF_DOTS = re.compile(r"\s*^[ \t]*\.\.\.[ \t]*$\s*", re.MULTILINE)


def matches(shown: str, printed: str) -> bool:
    """`...` stands for anything, a line of it for any lines or none; white space counts once."""
    first, *rest = ANYTHING.split(_squeezed(LINE_OF_DOTS.sub("\0", shown.strip())))
    text = _squeezed(printed.strip())
    if not rest:
        return text == first
    *middle, last = rest
    if not text.startswith(first):
        return False
    place = len(first)
    for piece in middle:
        found = text.find(piece, place)
        if found < 0:
            return False
        place = found + len(piece)
    return text[place:].endswith(last)


def _squeezed(text: str) -> str:
    return re.sub(r"\s+", " ", text)
