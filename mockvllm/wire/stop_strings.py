"""How many strings may end an answer: the one limit of a request's schema that the environment moves."""

from typing import Annotated, TypeVar

from pydantic import Field

from mockvllm.wire.fields import RequestModel

MAX_STOP_STRINGS = 4
"""VLLM_MAX_STOP_STRINGS where it is unset (vLLM 0.30 to 0.33)."""
StopList = Annotated[list[str], Field(max_length=MAX_STOP_STRINGS)]
StopStrings = str | StopList
M = TypeVar("M", bound=RequestModel)


def limit_stop_strings(model: type[M], most: int) -> type[M]:
    """`model` with room for `most` stop strings."""
    if most == MAX_STOP_STRINGS:
        return model
    limited = Annotated[list[str], Field(max_length=most)]
    if "stop" in model.fields():
        return model.retyped({"stop": str | limited | None})
    return model.retyped({"stop_sequences": limited | None})
