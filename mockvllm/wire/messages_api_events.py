"""The response of /v1/messages: that of a chat (vLLM converts it too) in events and a body of another shape."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.wire.chat_events import ChatResponse
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.messages_api_blocks import Blocks, event, signature
from mockvllm.wire.messages_api_errors import AnthropicError
from mockvllm.wire.parts import told

_STOP_REASONS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


class MessageResponse:
    """`own_error_types`: errors have Anthropic's types, not vLLM's."""

    is_plain = False

    def __init__(self, chat: ChatResponse, *, own_error_types: bool) -> None:
        self.num_prompt_tokens = chat.num_prompt_tokens
        self._chat = chat
        self._own_error_types = own_error_types
        self._blocks = Blocks()
        self._end = End("stop")

    # --- a stream -------------------------------------------------------------------------------------------------

    def opening(self) -> bytes:
        message = self._message([], {"stop_reason": None, "stop_sequence": None})
        return event("message_start", message=message | {"usage": self._counts(self.num_prompt_tokens, 0)})

    def frame(self, index: int) -> tuple[bytes, bytes]:
        raise TypeError("a text may open a block before it")

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        return told(self._chat.message_delta(index, delta), self._blocks)

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        self._end = end
        return told(self._chat.message_delta(index, delta, finished=True), self._blocks)

    def closing(self, num_completion_tokens: int) -> bytes:
        stop = {"stop_reason": None, "stop_sequence": None} | self._stop(self._end)
        delta = event("message_delta", delta=stop, usage=self._usage(num_completion_tokens))
        return self._blocks.close() + delta + event("message_stop")

    def failure(self, error: APIError) -> bytes:
        return self._blocks.close() + self._error(error).event()

    def error_body(self, error: APIError) -> bytes:
        return self._error(error).body()

    def _error(self, error: APIError) -> AnthropicError:
        return AnthropicError(error, own_types=self._own_error_types)

    # --- a whole body ---------------------------------------------------------------------------------------------

    def body(self, choices: Sequence[Said]) -> bytes:
        (said,) = choices
        content = list(_blocks_of(self._chat.message(0, said))) or [{"type": "text", "text": ""}]
        message = self._message(content, self._stop(said.end))
        return compact(message | {"usage": self._usage(len(said.delta.token_ids))})

    # --- both -----------------------------------------------------------------------------------------------------

    def _message(self, content: Sequence[Mapping[str, Any]], stop: Mapping[str, Any]) -> dict[str, Any]:
        head = {"id": self._chat.id, "type": "message", "role": "assistant"}
        return {**head, "content": content, "model": self._chat.shape.model, **stop}

    def _stop(self, end: End) -> dict[str, Any]:
        """Why it ended, without what is unknown of it."""
        if end.finish_reason == "stop" and isinstance(end.stop_reason, str):
            return {"stop_reason": "stop_sequence", "stop_sequence": end.stop_reason}
        reason = _STOP_REASONS.get(self._chat.finish_reason(0, end))
        return {} if reason is None else {"stop_reason": reason}

    def _usage(self, num_completion_tokens: int) -> dict[str, int]:
        """Anthropic counts the prompt's cached tokens, and those it adds to the cache, apart from the others."""
        details = self._chat.prompt_details()
        if details is None:
            return self._counts(self.num_prompt_tokens, num_completion_tokens)
        cached, created = details["cached_tokens"] or 0, details["created_cache_tokens"] or 0
        counts = self._counts(max(0, self.num_prompt_tokens - cached - created), num_completion_tokens)
        return {**counts, "cache_creation_input_tokens": created, "cache_read_input_tokens": cached}

    def _counts(self, num_input_tokens: int, num_output_tokens: int) -> dict[str, int]:
        return {"input_tokens": num_input_tokens, "output_tokens": num_output_tokens}


def _blocks_of(message: Mapping[str, Any]) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if message["reasoning"]:
        blocks.append({"type": "thinking", "thinking": message["reasoning"], "signature": signature()})
    if message["content"]:
        blocks.append({"type": "text", "text": message["content"]})
    for call in message.get("tool_calls", ()):
        function = call["function"]
        blocks.append({"type": "tool_use", "id": call["id"], "name": function["name"], "input": _input(function)})
    return blocks


def _input(function: Mapping[str, Any]) -> Any:
    try:
        return json.loads(function["arguments"])
    except ValueError:
        return {}
