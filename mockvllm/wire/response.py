"""What the responses of the generation endpoints share: who answers, usage, metrics, and the frame of every event."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from mockvllm.profiles.wire import WireRules
from mockvllm.wire.encoder import Delta, End, Said
from mockvllm.wire.errors import APIError
from mockvllm.wire.jsontext import compact
from mockvllm.wire.usage import EngineFacts, UsageRules, counts, metrics

DONE = b"data: [DONE]\n\n"
TEXT = "\x1a"  # stands for the text in a shape that is made once and filled many times


class Shape:
    """What the server's flags and the vLLM release settle about every response of an endpoint.

    `event_object`: the `object` of its events. `plain_choice`: a choice of an event that says TEXT and no more.
    """

    event_object: ClassVar[str]

    def __init__(self, model: str, rules: WireRules, usage: UsageRules, system_fingerprint: str | None) -> None:
        self.model = model
        self.rules = rules
        self.usage = usage
        self.fingerprint = {} if system_fingerprint is None else {"system_fingerprint": system_fingerprint}
        common = b',"object":%b,"created":%%d,"model":%b,"choices":['
        self._common = common % (compact(self.event_object), compact(model).replace(b"%", b"%%"))
        self._frames: dict[int, tuple[bytes, bytes]] = {}

    def plain_choice(self, index: int) -> dict[str, Any]:
        raise NotImplementedError

    def head(self, id: str, created: int) -> bytes:
        """Every event up to its choices."""
        return b'data: {"id":' + compact(id) + self._common % created

    def frame(self, index: int) -> tuple[bytes, bytes]:
        """What stands around the text of a plain event, from its choice on."""
        if index not in self._frames:
            head, tail = compact(self.plain_choice(index)).split(compact(TEXT)[1:-1])
            self._frames[index] = head, tail + b"]" + json_members(transfer_params(self.rules)) + b"}\n\n"
        return self._frames[index]


class Response:
    """What one request settles; the attributes without a parameter are what few requests ask for.

    `prompt_lengths`: tokens of each prompt; every prompt has as many of the choices. `facts`: the engine's notes, per
    choice; none if the request is refused. `logprobs(index, delta)`: the log-probabilities of a delta's tokens.
    """

    include_usage = False
    continuous_usage = False
    return_token_ids = False
    return_weight_versions = False
    logprobs: Callable[[int, Delta], Any] | None = None

    def __init__(
        self, shape: Shape, id: str, created: int, prompt_lengths: Sequence[int], facts: Sequence[EngineFacts]
    ) -> None:
        self.shape = shape
        self.id = id
        self.created = created
        self.prompt_lengths = prompt_lengths
        self.num_prompt_tokens = sum(prompt_lengths)
        self.num_choices = len(facts)
        self.facts = facts
        self._head = shape.head(id, created)

    @property
    def is_plain(self) -> bool:
        return self.logprobs is None and not self.return_token_ids and not self.continuous_usage

    def prompt_details(self) -> dict[str, int | None] | None:
        """How much of the prompt was cached, if the server is told to say so."""
        raise NotImplementedError

    def completion_details(self, index: int | None = None) -> dict[str, int] | None:
        """What the tokens of a choice, or of all, were said for; None unless the server tells reasoning apart."""
        return None

    def opening(self) -> bytes:
        """What a stream's first event is preceded by."""
        raise NotImplementedError

    def delta(self, index: int, delta: Delta, num_tokens: int) -> bytes:
        """An event of a choice that goes on."""
        raise NotImplementedError

    def finish(self, index: int, delta: Delta, num_tokens: int, end: End) -> bytes:
        """A choice's last event."""
        raise NotImplementedError

    def body(self, choices: Sequence[Said]) -> bytes:
        raise NotImplementedError

    def prompt_of(self, index: int) -> int:
        """Which prompt a choice answers."""
        return index * len(self.prompt_lengths) // self.num_choices

    # --- a stream -------------------------------------------------------------------------------------------------

    def frame(self, index: int) -> tuple[bytes, bytes]:
        head, tail = self.shape.frame(index)
        return self._head + head, tail

    def closing(self, num_completion_tokens: int) -> bytes:
        """The usage, if asked for, without what is unknown of it; and the stream's end."""
        if not self.include_usage:
            return DONE
        usage = counts(self.num_prompt_tokens, num_completion_tokens)
        details = _known(self.prompt_details())
        if details is not None:
            usage["prompt_tokens_details"] = details
        reasoned = self.completion_details()
        if reasoned is not None:
            usage["completion_tokens_details"] = reasoned
        rest = {"usage": usage} | self.shape.fingerprint
        measured = _known(self._metrics(num_completion_tokens))
        if measured is not None:
            rest["metrics"] = measured
        return self._event([], rest) + DONE

    def failure(self, error: APIError) -> bytes:
        return error.event(spaced=self.shape.rules.spaced_stream_errors)

    def error_body(self, error: APIError) -> bytes:
        """An error instead of the whole body."""
        return error.body()

    def _event(self, choices: list[dict[str, Any]], rest: dict[str, Any]) -> bytes:
        return self._head + compact(choices)[1:-1] + b"]" + json_members(rest) + b"}\n\n"

    def _end_members(self, index: int) -> dict[str, Any]:
        """Behind a choice's last event: the fingerprint, unless a usage chunk will have it, and where its KV is."""
        members = {} if self.include_usage else self.shape.fingerprint
        return members | transfer_params(self.shape.rules, self.facts[index].finished_kv_transfer_params)

    # --- a whole body ---------------------------------------------------------------------------------------------

    def _whole_usage(self, num_completion_tokens: int) -> dict[str, Any]:
        usage = counts(self.num_prompt_tokens, num_completion_tokens)
        details = self.prompt_details()
        usage["prompt_tokens_details"] = details and details | {"multimodal_tokens": None}
        usage["completion_tokens_details"] = self.completion_details()
        return usage

    def _whole_metrics(self, num_completion_tokens: int) -> dict[str, Any] | None:
        measured = self._metrics(num_completion_tokens)
        return measured and {**measured, "speculative_decoding": None}

    def _whole_fingerprint(self) -> dict[str, Any]:
        return {"system_fingerprint": None} | self.shape.fingerprint

    # --- both -----------------------------------------------------------------------------------------------------

    def _metrics(self, num_tokens: int) -> Any:
        return metrics(self.shape.usage, num_tokens, self.facts[0]) if self.num_choices == 1 else None

    def _transfer_params(self) -> Mapping[str, Any] | None:
        """How the KV of the first choice is fetched by another server, if it was computed for one."""
        return self.facts[0].finished_kv_transfer_params if self.facts else None

    def _weight_versions(self, num_tokens: int) -> dict[str, Any]:
        """Which weights said which of a choice's tokens: there is one version of them."""
        if not self.shape.rules.weight_versions:
            return {}
        spans = [{"version": "default", "start": 0, "end": num_tokens}] if self.return_weight_versions else None
        return {"weight_versions": spans}

    def _token_ids(self, delta: Delta) -> Sequence[int] | None:
        return delta.token_ids if self.return_token_ids else None


def transfer_params(rules: WireRules, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
    return {"kv_transfer_params": params} if rules.chunk_kv_transfer_params else {}


def json_members(members: dict[str, Any]) -> bytes:
    """The members of an object that goes on."""
    return b"," + compact(members)[1:-1] if members else b""


def _known(members: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if members is None else {key: value for key, value in members.items() if value is not None}
