"""What all events of /v1/chat/completions have in common, in the key order in which vLLM writes them."""

from typing import Any

from mockvllm.profiles.wire import WireRules
from mockvllm.wire.jsontext import compact
from mockvllm.wire.usage import UsageRules

_TEXT = "\x1a"  # stands for the text in a shape that is made once and filled many times
NO_REASON = {"finish_reason": None}


class ChatShape:
    """What the server's flags and the vLLM release settle about every response."""

    def __init__(self, model: str, rules: WireRules, usage: UsageRules, system_fingerprint: str | None) -> None:
        self.model = model
        self.rules = rules
        self.usage = usage
        self.system_fingerprint = system_fingerprint
        self._model = compact(model)
        self._frames: dict[int, tuple[bytes, bytes]] = {}

    def head(self, id: str, created: int) -> bytes:
        """Every event up to its choices."""
        head = b'data: {"id":%b,"object":"chat.completion.chunk","created":%d,"model":%b,"choices":['
        return head % (compact(id), created, self._model)

    def frame(self, index: int) -> tuple[bytes, bytes]:
        """What stands around the text of a plain event, from its choice on."""
        if index not in self._frames:
            choice = stream_choice(index, {"content": _TEXT}) | NO_REASON | {"token_ids": None}
            head, tail = compact(choice).split(compact(_TEXT)[1:-1])
            self._frames[index] = head, tail + b"]" + json_members(transfer_params(self.rules)) + b"}\n\n"
        return self._frames[index]


def stream_choice(index: int, delta: dict[str, Any], logprobs: dict[str, Any] | None = None) -> dict[str, Any]:
    return {"index": index, "delta": delta, "logprobs": logprobs}


def transfer_params(rules: WireRules) -> dict[str, Any]:
    return {"kv_transfer_params": None} if rules.chunk_kv_transfer_params else {}


def json_members(members: dict[str, Any]) -> bytes:
    """The members of an object that goes on."""
    return b"," + compact(members)[1:-1] if members else b""
