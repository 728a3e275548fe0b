"""A request on its way from its checks to the engine, and what its headers say."""

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from typing_extensions import TypeVar

from mockvllm.answers.prompt import Messages
from mockvllm.wire.generation_request import GenerationRequest

PRIORITY = b"x-vllm-priority"
RANK = b"x-data-parallel-rank"
Headers = Iterable[tuple[bytes, bytes]]
R = TypeVar("R", bound=GenerationRequest, default=GenerationRequest)


@dataclass(slots=True)
class Prompt:
    """One prompt of a request: rendered, tokenized, with its sampling parameters (`values`).

    `user_text`: where a directive may stand. `conversation`: the messages it was made of, if it was. `incomplete`: its
    last tokens, if they are but the beginning of a character, which what is said next ends. `is_given_as_tokens`: by
    the client, so that they may be any numbers.
    """

    text: str
    token_ids: Sequence[int]
    user_text: str
    conversation: Messages = ()
    incomplete: Sequence[int] = ()
    is_given_as_tokens: bool = False
    values: dict[str, Any] = field(init=False)


@dataclass(slots=True)
class Draft(Generic[R]):
    """What the checks and the tokenizer have made of a request. `request_id`: the response's."""

    request_id: str
    request: R
    arrival_time: float
    priority: int
    prompts: Sequence[Prompt]


def response_id(prefix: str, request_id: str | None, headers: Mapping[bytes, bytes]) -> str:
    """The id of the response: the client's (header before field), even an empty one, or else a random one."""
    header = headers.get(b"x-request-id")
    given = request_id if header is None else header.decode("latin-1")
    return prefix + (f"{random.getrandbits(64):016x}" if given is None else given)


def priority(request: GenerationRequest, headers: Mapping[bytes, bytes]) -> int:
    """Lower is earlier; the header goes before the field."""
    given = integer(headers, PRIORITY)
    return request.priority if given is None else given


def integer(headers: Mapping[bytes, bytes], name: bytes) -> int | None:
    """The number that a header is; None if it is none, or not there."""
    if name not in headers:
        return None
    try:
        return int(headers[name].decode("latin-1"))
    except ValueError:
        return None
