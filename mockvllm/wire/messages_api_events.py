"""The response of /v1/messages to one request: events and body, in the key order in which vLLM writes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.messages_api_blocks import Blocks, event
from mockvllm.wire.messages_api_errors import AnthropicError
from mockvllm.wire.usage import EngineFacts, UsageRules, prompt_details

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


@dataclass(frozen=True, slots=True)
class MessageShape:
    """What the server's flags and the vLLM release settle about every response."""

    model: str
    usage: UsageRules
    own_error_types: bool


class MessageResponse:
    """`facts`: the engine's notes; none if the request is refused."""

    is_plain = False

    def __init__(self, shape: MessageShape, id: str, num_prompt_tokens: int, facts: Sequence[EngineFacts]) -> None:
        self.shape = shape
        self.id = id
        self.num_prompt_tokens = num_prompt_tokens
        self._facts = facts
        self._blocks = Blocks()
        self._end = End("stop")

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        message: dict[str, Any] = {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "content": [],
            "model": self.shape.model,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": {"input_tokens": self.num_prompt_tokens, "output_tokens": 0},
        }
        return event("message_start", message=message)

    def frame(self, index: int) -> tuple[bytes, bytes]:
        raise TypeError("a text may open a block before it")

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        return self._blocks.text(delta.text) if delta.text else b""

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        self._end = end
        return self.delta(index, delta, num_tokens)

    def closing(self, num_completion_tokens: int) -> bytes:
        stop = {"stop_reason": None, "stop_sequence": None} | _stop(self._end)
        delta = event("message_delta", delta=stop, usage=self._usage(num_completion_tokens))
        return self._blocks.close() + delta + event("message_stop")

    def failure(self, error: APIError) -> bytes:
        return self._blocks.close() + AnthropicError(error, own_types=self.shape.own_error_types).event()

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        (said,) = choices
        return compact(
            {
                "id": self.id,
                "type": "message",
                "role": "assistant",
                "content": [{"type": "text", "text": said.delta.text}],
                "model": self.shape.model,
                **_stop(said.end),
                "usage": self._usage(len(said.delta.token_ids)),
            }
        )

    # --- both -----------------------------------------------------------------------------------------------------

    def _usage(self, num_completion_tokens: int) -> dict[str, int]:
        """Anthropic counts the prompt's cached tokens, and those it adds to the cache, apart from the others."""
        details = prompt_details(self.shape.usage, self.num_prompt_tokens, self._facts[0] if self._facts else None)
        if details is None:
            return {"input_tokens": self.num_prompt_tokens, "output_tokens": num_completion_tokens}
        cached, created = details["cached_tokens"] or 0, details["created_cache_tokens"] or 0
        return {
            "input_tokens": max(0, self.num_prompt_tokens - cached - created),
            "output_tokens": num_completion_tokens,
            "cache_creation_input_tokens": created,
            "cache_read_input_tokens": cached,
        }


def _stop(end: End) -> dict[str, Any]:
    """Why it ended, without what is unknown of it."""
    if end.finish_reason == "stop" and isinstance(end.stop_reason, str):
        return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_reason}
    reason = _STOP_REASONS.get(end.finish_reason)
    return {} if reason is None else {"stop_reason": reason}
