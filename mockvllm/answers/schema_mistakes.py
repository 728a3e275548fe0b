"""JSON schemas as clients send them: what is wrong in them says nothing."""

from collections.abc import Iterable
from copy import deepcopy
from typing import Any

_MOST_ROUNDS = 8


def without_mistakes(root: object) -> object:
    """The schema without keywords whose values its draft does not know; False, which allows nothing, of no schema."""
    from jsonschema.validators import (  # type: ignore[import-untyped]  # slow to import
        Draft202012Validator,
        validator_for,
    )

    draft = validator_for(root, default=Draft202012Validator)
    judge, left = draft(draft.META_SCHEMA), deepcopy(root)
    for _ in range(_MOST_ROUNDS):
        places = {tuple(error.absolute_path) for error in judge.iter_errors(left)}
        if not places:
            return left
        if () in places:
            return False
        for place in sorted(places, key=_deepest_and_last_first):
            _remove(left, place)
    return False


def _deepest_and_last_first(place: tuple[Any, ...]) -> Any:
    """So that what is removed from a list moves nothing that is to be removed yet."""
    return -len(place), tuple(-step if isinstance(step, int) else 0 for step in place)


def _remove(place: Any, steps: Iterable[Any]) -> None:
    *path, last = steps
    for step in path:
        place = place[step]
    if isinstance(place, list):
        place[last:] = place[last + 1 :]
    else:
        place.pop(last, None)
