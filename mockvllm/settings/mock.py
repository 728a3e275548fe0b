"""Our own options: what is said, when, and who may look inside."""

from dataclasses import dataclass
from typing import Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import human_int


def profile_name(text: str) -> str:
    """`0.33` out of `vllm-0.33`, `v0.33` and `0.33.0`."""
    release = text.strip().lower().removeprefix("vllm-").removeprefix("v")
    return ".".join(release.split(".")[:2])


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Mock:
    """The mock itself; every option may also be given as MOCKVLLM_<NAME> in the environment."""

    profile: Literal["0.30", "0.32", "0.33"] = knob(
        "0.33", "vLLM release that is followed; vllm-0.33 and 0.33.0 are the same", parse=profile_name
    )
    answer: Literal["sentence", "repeat", "echo", "random", "lorem"] = knob("sentence", "what is said by default")
    directives: bool = knob(True, "obey [[say]], [[eos]] and the other directives in the prompt, headers and body")
    step_time: Literal["fixed", "linear"] = knob("fixed", "model of how long a step takes")
    queue_ms: float = knob(0.0, "fixed: ms in the queue, part of the time to the first token", within="[0, inf)")
    ttft_ms: float = knob(300.0, "fixed: ms to the first token", within="[0, inf)")
    itl_ms: float = knob(40.0, "fixed: ms from token to token", within="[0, inf)")
    linear_base_ms: float = knob(40.0, "linear: ms of every step", within="[0, inf)")
    linear_prefill_ms_per_token: float = knob(0.0, "linear: ms for each prompt token of a step", within="[0, inf)")
    linear_decode_ms_per_seq: float = knob(0.0, "linear: ms for each decoding request of a step", within="[0, inf)")
    linear_kv_ms_per_token: float = knob(0.0, "linear: ms for each KV token a step reads", within="[0, inf)")
    events_per_write: int = knob(16, "most events of a stream in one write", within="[1, inf)")
    control: bool = knob(True, "serve the control API under /mock")
    control_key: str | None = knob(None, "key that opens /mock to peers that are not local", secret=True)
    journal_size: int = knob(10_000, "requests the journal remembers", parse=human_int, within="[0, inf)")
    clock: Literal["real", "manual"] = knob("real", "what time is: real, or stepped through /mock/clock")
    time_scale: float = knob(1.0, "seconds of the server in a real second", within="(0, inf)")


STEP_TIME_PARAMETERS = {
    "fixed": ("queue_ms", "ttft_ms", "itl_ms"),
    "linear": (
        "linear_base_ms",
        "linear_prefill_ms_per_token",
        "linear_decode_ms_per_seq",
        "linear_kv_ms_per_token",
    ),
}
