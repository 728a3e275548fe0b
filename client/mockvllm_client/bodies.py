"""The requests of `vllm bench serve` (0.33.0), field by field, for each of its backends."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

_STREAM: Mapping[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What all requests of a run have in common. `extra` goes into every body, last."""

    model: str
    logprobs: int | None = None
    ignore_eos: bool = False
    extra: Mapping[str, Any]

    def body(self, backend: "Backend", prompt: str, output_len: int) -> dict[str, Any]:
        ignore = {"ignore_eos": True} if self.ignore_eos else {}
        return {**backend.fields(self, prompt, output_len), **ignore, **self.extra}


@dataclass(frozen=True, slots=True)
class Backend:
    """`endpoint`: its path, whose end no other path may lack."""

    endpoint: str
    ending: str
    fields: Callable[[Asked, str, int], dict[str, Any]]


def _completion(asked: Asked, prompt: str, output_len: int) -> dict[str, Any]:
    head = {"model": asked.model, "prompt": prompt, "repetition_penalty": 1.0, "max_tokens": output_len}
    return {**head, "logprobs": asked.logprobs, **_STREAM}


def _chat(asked: Asked, prompt: str, output_len: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": [{"type": "text", "text": prompt}]}]
    return {"model": asked.model, "messages": messages, "max_completion_tokens": output_len, **_STREAM}


_COMPLETIONS = Backend("/v1/completions", "completions", _completion)
BACKENDS: Mapping[str, Backend] = {
    "openai": _COMPLETIONS,
    "vllm": _COMPLETIONS,
    "openai-chat": Backend("/v1/chat/completions", "chat/completions", _chat),
}
