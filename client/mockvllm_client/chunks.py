"""What the chunks of a completion say, walked without assuming anything: no choice, a null delta, JSON that is none.

Understands chat chunks (`choices[].delta`), completion chunks (`choices[].text`), whole bodies (`choices[].message`)
and errors.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

DONE = "[DONE]"
_REASONING = ("reasoning", "reasoning_content")  # vLLM's name, and its name in older releases
_TOKEN_FIELDS = ("content", *_REASONING, "tool_calls", "function_call")
_SAMPLE = 200

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Said:
    """What one event adds. `choice` is the index of its first choice, `text` and `reasoning` what choice 0 gets of
    it."""

    kind: str = "other"  # role, token, finish, usage, done, error, empty, malformed, other
    text: str = ""
    reasoning: str = ""
    is_token: bool = False
    choice: int = 0


@dataclass(slots=True)
class ToolCall:
    """A tool call, assembled from its deltas."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, delta: Json) -> None:
        function = _dict(delta.get("function"))
        self.id = self.id or _string(delta.get("id"))
        self.name = self.name or _string(function.get("name"))
        self.arguments += _string(function.get("arguments"))


@dataclass(slots=True)
class Choice:
    """One choice, assembled."""

    tool_calls: dict[int, ToolCall] = field(default_factory=dict)
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def reasoning(self) -> str:
        return "".join(self._reasoning)

    def add(self, choice: Json) -> tuple[str, str]:
        """Take one choice of a chunk; returns the text and the reasoning that it brought."""
        delta = _delta(choice)
        text, reasoning = _string(delta.get("content")), _reasoning(delta)
        self._text.append(text)
        self._reasoning.append(reasoning)
        for position, call in enumerate(_dicts(delta.get("tool_calls"))):
            self.tool_calls.setdefault(_index(call, position), ToolCall()).add(call)
        self.finish_reason = _string(choice.get("finish_reason")) or self.finish_reason
        if choice.get("stop_reason") is not None:
            self.stop_reason = choice["stop_reason"]
        return text, reasoning


@dataclass(slots=True)
class Answer:
    """A completion as it grows. Anything that cannot be read is counted in `malformed`, with the first of it in
    `sample`."""

    id: str = ""
    model: str = ""
    choices: dict[int, Choice] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    error: dict[str, Any] | None = None
    done: bool = False
    malformed: int = 0
    sample: str = ""

    @property
    def first(self) -> Choice:
        """Choice 0, empty if there was none."""
        return self.choices.get(0) or Choice()

    def take(self, data: str) -> Said:
        """Read the data of one event, or a whole JSON body."""
        if data.strip() in ("", DONE):
            self.done = self.done or bool(data.strip())
            return Said("done" if data.strip() else "empty")
        try:
            payload = json.loads(data)
        except (ValueError, RecursionError):
            payload = None
        if not isinstance(payload, dict):
            self.malformed += 1
            self.sample = self.sample or data[:_SAMPLE]
            return Said("malformed")
        return self._take(payload)

    def _take(self, chunk: Json) -> Said:
        if chunk.get("error") is not None:
            self.error = self.error or _error(chunk["error"])
            return Said("error")
        self.id = self.id or _string(chunk.get("id"))
        self.model = self.model or _string(chunk.get("model"))
        self.usage = _dict(chunk.get("usage")) or self.usage
        choices = list(_dicts(chunk.get("choices")))
        said = [self._choice(choice).add(choice) for choice in choices]
        text, reasoning = next((s for s, choice in zip(said, choices, strict=True) if _index(choice) == 0), ("", ""))
        is_token = is_token_event(chunk)
        return Said(_kind(chunk, choices, is_token), text, reasoning, is_token, _index(choices[0]) if choices else 0)

    def _choice(self, choice: Json) -> Choice:
        return self.choices.setdefault(_index(choice), Choice())


def is_token_event(chunk: Json, *, role_chunk_counts: bool = False) -> bool:
    """Whether `vllm bench serve` takes this chunk for a token event.

    0.33: its first choice has a truthy content, reasoning, tool_calls or function_call, or an empty content and no role
    (so the finish chunk counts and the role chunk does not). 0.30 and 0.32 (`role_chunk_counts`) and every completion
    chunk: any choice at all. `reasoning_content`, the older name of `reasoning`, counts as it does.
    """
    first = next(_dicts(chunk.get("choices")), None)
    if first is None:
        return False
    if role_chunk_counts or "delta" not in first:
        return True
    delta = _dict(first["delta"])
    return any(delta.get(name) for name in _TOKEN_FIELDS) or (delta.get("content") == "" and "role" not in delta)


def _kind(chunk: Json, choices: Sequence[Json], is_token: bool) -> str:
    if any(choice.get("finish_reason") for choice in choices):
        return "finish"
    if is_token:
        return "token"
    if any(_delta(choice).get("role") for choice in choices):
        return "role"
    return "usage" if not choices and chunk.get("usage") else "other"


def _index(item: Json, default: int = 0) -> int:
    index = item.get("index")
    return index if isinstance(index, int) else default


def _delta(choice: Json) -> Json:
    if "text" in choice:
        return {"content": choice["text"]}
    return _dict(choice.get("delta")) or _dict(choice.get("message"))


def _reasoning(delta: Json) -> str:
    return next((text for name in _REASONING if (text := _string(delta.get(name)))), "")


def _error(error: object) -> dict[str, Any]:
    return _dict(error) or {"message": _string(error) or json.dumps(error)}


def _dict(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _dicts(value: object) -> Iterator[dict[str, Any]]:
    return (item for item in value if isinstance(item, dict)) if isinstance(value, list) else iter(())


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
