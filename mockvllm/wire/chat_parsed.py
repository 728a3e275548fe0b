"""The response of /v1/chat/completions where the server has a tool parser or a reasoning parser."""

from collections.abc import Sequence
from typing import Any

from mockvllm.wire.chat_events import ChatResponse
from mockvllm.wire.chat_shape import NO_REASON, stream_choice
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.reasoning import ReasoningTokens
from mockvllm.wire.response import transfer_params
from mockvllm.wire.tools import MessageParser, delta_message, whole_calls

Members = dict[str, Any]


class ParsedChatResponse(ChatResponse):
    """`parsers`: one for each choice. `reasoning`: where the server has a reasoning parser.

    `single_call`: the request wants one tool call at most. `named_call`: it names the function; `forced_call`: it names
    it or wants any (`tool_choice` required).
    """

    parsers: Sequence[MessageParser] = ()
    reasoning: ReasoningTokens | None = None
    single_call = False
    named_call = False
    forced_call = False
    is_plain = False

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._called: set[int] = set()  # choices that called a tool

    # --- a stream -------------------------------------------------------------------------------------------------

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        """Nothing for what the parser withholds, unless its tokens are to be shown."""
        message, logprobs = self.message_delta(index, delta), self._logprobs(index, delta)
        shows_tokens = self.return_token_ids or (logprobs is not None and self.shape.rules.withheld_logprobs)
        if message is None and not shows_tokens:
            return b""
        choice = stream_choice(index, message or {}, logprobs) | NO_REASON | {"token_ids": self._token_ids(delta)}
        return self._event([choice], self._usage(index, num_tokens) | transfer_params(self.shape.rules))

    def message_delta(self, index: int, delta: Delta, *, finished: bool = False) -> dict[str, Any] | None:
        if self.reasoning is not None:
            self.reasoning.add(index, delta.token_ids)
        parsed = self.parsers[index].feed(delta.text, finished=finished)
        if parsed is not None and parsed.get("tool_calls"):
            self._called.add(index)
        return None if parsed is None else delta_message(parsed, single=self.single_call)

    # --- a whole body ---------------------------------------------------------------------------------------------

    def message(self, index: int, said: Said) -> dict[str, Any]:
        if self.reasoning is not None:
            self.reasoning.add(index, said.delta.token_ids)
        parsed = self.parsers[index].parse(said.delta.text)
        message = super().message(index, said)
        echo = self.roles[self.prompt_of(index)].echo
        content = (parsed.content or "") if self.forced_call or echo else parsed.content
        message |= {"content": echo + content if echo and content is not None else content}
        if parsed.tool_calls:
            self._called.add(index)
            del message["reasoning"]
            message["tool_calls"] = whole_calls(parsed.tool_calls, single=self.single_call)
        return message | {"reasoning": parsed.reasoning}

    # --- both -----------------------------------------------------------------------------------------------------

    def finish_reason(self, index: int, end: End) -> str:
        called = index in self._called and not self.named_call
        if called and (end.finish_reason == "stop" or self.shape.rules.cut_calls_are_calls):
            return "tool_calls"
        return end.finish_reason

    def completion_details(self, index: int | None = None) -> dict[str, int] | None:
        return None if self.reasoning is None else self.reasoning.details(index)
