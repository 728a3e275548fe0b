"""Stop conditions, in vLLM's order: EOS, a stop token, the limits, repetition.

What a request says is known ahead, so the conditions are not asked after every token: `check_stop` looks ahead once and
sets `request.check_at`, the token count below which none of them can hold. Nothing else of the engine uses this
foresight: the asynchronous scheduler still schedules the step past an EOS that the real one cannot foresee.
"""

from array import array
from collections.abc import Collection, Sequence

from mockvllm.engine.request import FinishReason, RepetitionDetection, Request

LOOK_AHEAD = 64  # output tokens examined at a time
_PROBE = 16  # tokens compared before all of a pattern's copies are


def check_stop(request: Request, max_model_len: int) -> FinishReason | None:
    """The reason why `request` ends with the token it has just said, which is also set on it with its `stop_reason`.
    If it does not end, `check_at` is moved on. Call it when `num_tokens` has reached `check_at`, and before the first
    token."""
    said = request.num_tokens - request.num_prompt_tokens
    if said:
        reason = _reason(request, said, max_model_len)
        if reason is not None:
            request.finish_reason = reason
            return reason
    request.check_at = request.num_prompt_tokens + _next_check(request, said, max_model_len)
    return None


def _stop_ids(request: Request) -> Collection[int]:
    """The tokens that end it."""
    if request.eos_token_id is None or request.ignore_eos:
        return request.stop_token_ids
    return {*request.stop_token_ids, request.eos_token_id}


def _reason(request: Request, said: int, max_model_len: int) -> FinishReason | None:
    ids = _stop_ids(request)
    if ids and (token := request.outputs.token(said - 1)) in ids:
        if token != request.eos_token_id or request.ignore_eos:
            request.stop_reason = token
        return "stop"
    if request.outputs.end is not None and said >= request.outputs.end:
        return "stop"
    if said >= request.max_tokens or request.num_tokens >= max_model_len:
        return "length"
    rule = request.repetition_detection
    if rule is not None and said >= request.min_tokens and _repeats(request, said, rule):
        request.stop_reason = "repetition_detected"
        return "repetition"
    return None


def _repeats(request: Request, said: int, rule: RepetitionDetection) -> bool:
    window = rule.max_pattern_size * rule.min_count
    return repeats(request.outputs.tokens(max(0, said - window), said), rule)


def _next_check(request: Request, said: int, max_model_len: int) -> int:
    """After how many output tokens a stop condition may hold next."""
    horizon = min(request.max_tokens, max_model_len - request.num_prompt_tokens)
    if request.outputs.end is not None:
        horizon = min(horizon, request.outputs.end)
    if request.repetition_detection is not None:
        horizon = min(horizon, max(request.min_tokens, said + 1))
    ids = _stop_ids(request)
    if ids:
        horizon = min(horizon, said + LOOK_AHEAD)
        ahead = request.outputs.tokens(said, horizon)
        if not set(ids).isdisjoint(ahead):
            return said + 1 + next(i for i, token in enumerate(ahead) if token in ids)
    return max(horizon, said + 1)


def repeats(tokens: Sequence[int], rule: RepetitionDetection) -> bool:
    """Whether `tokens` end in `min_count` copies of one pattern of an allowed size. `min_count` is at least 2."""
    count = len(tokens)
    packed: array[int] | None = None
    for size in range(max(1, rule.min_pattern_size), rule.max_pattern_size + 1):
        span = size * rule.min_count
        if span > count:
            return False
        if tokens[-1 - size] != tokens[-1]:
            continue
        packed = packed or array("q", tokens)  # copied and compared many times faster than a list
        probe = min(span - size, _PROBE)
        if packed[-probe:] == packed[-probe - size : -size] and packed[size - span :] == packed[-span:-size]:
            return True
    return False
