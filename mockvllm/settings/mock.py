"""Our own options: what is said, when, and who may look inside."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import human_int, json_object


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
    step_time: Literal["fixed", "linear", "roofline", "table", "trace"] = knob(
        "fixed", "model of how long a step takes"
    )
    queue_ms: float = knob(0.0, "fixed: ms in the queue, part of the time to the first token", within="[0, inf)")
    ttft_ms: float = knob(300.0, "fixed: ms to the first token", within="[0, inf)")
    itl_ms: float = knob(40.0, "fixed: ms from token to token", within="[0, inf)")
    linear_base_ms: float = knob(40.0, "linear: ms of every step", within="[0, inf)")
    linear_prefill_ms_per_token: float = knob(0.0, "linear: ms for each prompt token of a step", within="[0, inf)")
    linear_decode_ms_per_seq: float = knob(0.0, "linear: ms for each decoding request of a step", within="[0, inf)")
    linear_kv_ms_per_token: float = knob(0.0, "linear: ms for each KV token a step reads", within="[0, inf)")
    step_time_file: str | None = knob(None, "table, trace: measured points, CSV or JSON")
    step_time_model: str | None = knob(
        None, "roofline: a config.json or a preset such as llama-3.1-8b; unset: --hf-config-path, else Llama 3.3 70B"
    )
    roofline_efficiency: Mapping[str, Any] = knob({}, "roofline: its constants, by name", parse=json_object)
    step_time_spread: float = knob(
        0.0, "times vary by chance: standard deviation, a share of the mean", within="[0, 2]"
    )
    kv_fetch_ms_per_token: float = knob(
        0.01, "--kv-transfer-config: ms until a prompt token's KV is fetched from another server", within="[0, inf)"
    )
    kv_load_failure_rate: float = knob(
        0.0, "--kv-transfer-config: share of requests whose KV cannot be fetched, by chance", within="[0, 1]"
    )
    gpu: str | None = knob(
        None, "the GPU's figures, such as H100; unset: the reference replica of two H100 of 80e9 bytes"
    )
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
    "roofline": ("step_time_model", "roofline_efficiency"),
    "table": ("step_time_file",),
    "trace": ("step_time_file",),
}
