"""What cannot be: values out of their range, and flags that contradict each other. vLLM's texts where it has one."""

from collections.abc import Iterator

from mockvllm.settings.answer_parsers import unknown
from mockvllm.settings.derive import Derived, derive
from mockvllm.settings.environment import Environment
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.knob import flag_of, knob_of
from mockvllm.settings.kv_room import check_kv_room
from mockvllm.settings.model_limit import model_limit
from mockvllm.settings.record import GROUPS, Settings, knobs

EFFORTS = frozenset(("none", "minimal", "low", "medium", "high", "xhigh", "max"))


def check(settings: Settings, env: Environment) -> None:
    """Raises SettingsError for the first thing that cannot be: one line with the flags and their values."""
    for problems in (out_of_range(settings), frontend(settings), unknown(settings), mock(settings), parallel(settings)):
        _raise_first(problems)
    _raise_first(transfer(settings))
    limit, blocks = model_limit(settings), settings.num_gpu_blocks_override
    _raise_first(context(settings, env, limit))
    derived = derive(settings, model_limit=limit, num_gpu_blocks=blocks)
    _raise_first(scheduler(settings, derived))
    if blocks is not None:
        check_kv_room(derived, blocks, settings.tensor_parallel_size)


def _raise_first(problems: Iterator[str]) -> None:
    for problem in problems:
        raise SettingsError(problem)


def out_of_range(settings: Settings) -> Iterator[str]:
    """Numbers outside the interval that their knob declares."""
    for group in GROUPS:
        for declared in knobs(group):
            allowed, value = knob_of(declared).within, getattr(settings, declared.name)
            if allowed and value is not None and value not in allowed:
                yield f"{flag_of(declared.name)}: {value} is not in {allowed.text}"


def frontend(settings: Settings) -> Iterator[str]:
    """vLLM's start-up checks of the front end."""
    if settings.enable_auto_tool_choice and not settings.tool_call_parser:
        yield "--enable-auto-tool-choice requires --tool-call-parser"
    if settings.enable_log_outputs and not settings.enable_log_requests:
        yield "--enable-log-outputs requires --enable-log-requests"
    if settings.enable_per_request_metrics and settings.disable_log_stats:
        yield "--enable-per-request-metrics cannot be used with --disable-log-stats"
    unknown = sorted(set(settings.reasoning_effort_map or ()) - EFFORTS)
    if unknown:
        yield f"--reasoning-effort-map: no such reasoning effort: {', '.join(unknown)}"
    if settings.fingerprint_mode == "custom" and settings.fingerprint_value is None:
        yield "--fingerprint-mode custom requires --fingerprint-value"
    if settings.ssl_keyfile and not settings.ssl_certfile:
        yield f"--ssl-keyfile {settings.ssl_keyfile} requires --ssl-certfile"


def mock(settings: Settings) -> Iterator[str]:
    """Contradictions among our own options."""
    if settings.step_time == "fixed" and settings.queue_ms > settings.ttft_ms:
        yield (
            f"--queue-ms {settings.queue_ms:g} is longer than --ttft-ms {settings.ttft_ms:g}: "
            "the time to the first token includes the queue"
        )
    if settings.control_key is not None and not settings.control:
        yield "--control-key has nothing to open with --no-control"
    if settings.clock == "manual" and settings.time_scale != 1:
        yield f"--time-scale {settings.time_scale:g} has no meaning with --clock manual"


def transfer(settings: Settings) -> Iterator[str]:
    """vLLM's checks of the KV connector."""
    if settings.kv_transfer_config:
        from mockvllm.settings import kv_transfer  # only who has one pays for the import

        yield from kv_transfer.problems(settings.kv_transfer_config)


def parallel(settings: Settings) -> Iterator[str]:
    """Ranks and sizes of data parallelism."""
    size, rank, local = settings.data_parallel_size, settings.data_parallel_rank, settings.data_parallel_size_local
    if rank is not None and rank >= size:
        yield f"data_parallel_rank ({rank}) must be in the range [0, {size})"
    if local is not None and local > size:
        yield f"data_parallel_size_local ({local}) must be <= data_parallel_size ({size})"


def context(settings: Settings, env: Environment, limit: int | None) -> Iterator[str]:
    """The length of a context against what the model allows."""
    given = settings.max_model_len
    if given == 0:
        yield "--max-model-len: must be positive, or -1 or auto, not 0"
    if given and limit and given > limit and not env.VLLM_ALLOW_LONG_MAX_MODEL_LEN:
        yield (
            f"User-specified max_model_len ({given}) is greater than the derived max_model_len ({limit}, from the "
            "model's config.json). VLLM_ALLOW_LONG_MAX_MODEL_LEN=1 allows it"
        )


def scheduler(settings: Settings, derived: Derived) -> Iterator[str]:
    """vLLM's checks of the scheduler's options."""
    tokens, seqs, length = derived.max_num_batched_tokens, derived.max_num_seqs, derived.max_model_len
    scheduled = settings.max_num_scheduled_tokens
    if scheduled is not None and scheduled < length and not derived.enable_chunked_prefill:
        yield (
            f"max_num_scheduled_tokens ({scheduled}) is smaller than max_model_len ({length}) and chunked prefill is "
            "off: a longer prompt could never be scheduled"
        )
    if tokens < length and not derived.enable_chunked_prefill:
        yield (
            f"max_num_batched_tokens ({tokens}) is smaller than max_model_len ({length}). This effectively limits "
            "the maximum sequence length to max_num_batched_tokens and makes vLLM reject longer sequences. "
            "Please increase max_num_batched_tokens or decrease max_model_len."
        )
    if tokens < seqs:
        yield f"max_num_batched_tokens ({tokens}) must be greater than or equal to max_num_seqs ({seqs})."
    active, threshold = settings.max_num_active_seqs, settings.long_prefill_token_threshold
    if active is not None and active > seqs:
        yield f"max_num_active_seqs ({active}) cannot be greater than max_num_seqs ({seqs})."
    if threshold > length:
        yield f"long_prefill_token_threshold ({threshold}) cannot be greater than the max_model_len ({length})."
