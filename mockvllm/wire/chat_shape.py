"""What all events of /v1/chat/completions have in common, in the key order in which vLLM writes them."""

from typing import Any

from mockvllm.wire.response import TEXT, Shape

NO_REASON = {"finish_reason": None}


class ChatShape(Shape):
    """What the server's flags and the vLLM release settle about every response."""

    event_object = "chat.completion.chunk"

    def plain_choice(self, index: int) -> dict[str, Any]:
        return stream_choice(index, {"content": TEXT}) | NO_REASON | {"token_ids": None}


def stream_choice(index: int, delta: dict[str, Any], logprobs: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": logprobs}
