"""Requests that would wait forever are refused before a simulation begins."""

from mockvllm.engine import SchedulerConfig
from mockvllm.simulation.workload import Workload


def check_admission(workload: Workload, config: SchedulerConfig) -> None:
    """Raises ValueError, one line, for the first request whose prompt can never be admitted, or which grows out of the
    KV cache and would be preempted again and again."""
    lengths = list(zip(workload.prompt_lens, workload.output_lens, strict=True))
    problems = {pair: problem for pair in set(lengths) if (problem := _problem(*pair, config))}
    if problems:
        number = next(number for number, pair in enumerate(lengths) if pair in problems)
        raise ValueError(f"request {number}: {problems[lengths[number]]}")


def _problem(prompt: int, output: int, config: SchedulerConfig) -> str | None:
    usable = config.num_gpu_blocks - 1
    room = usable * config.block_size
    cache = f"the KV cache holds {room} tokens ({usable} blocks of {config.block_size})"
    if prompt > room:
        return f"a prompt of {prompt} tokens can never be admitted: {cache}"
    if refused := beyond_window(prompt, config.max_model_len):
        return f"{refused} (--max-model-len)"
    budget = config.max_num_scheduled_tokens or config.max_num_batched_tokens
    if prompt > budget and not config.enable_chunked_prefill:
        return f"a prompt of {prompt} tokens can never be admitted in one step of {budget} tokens, without chunks"
    computed = min(prompt + output, config.max_model_len) - 1  # nothing computes the last token
    if computed > room:
        return f"a prompt of {prompt} and {output} output tokens can never be finished: {cache}"
    return None


def beyond_window(prompt: int, max_model_len: int) -> str | None:
    """Why a server refuses a prompt of so many tokens."""
    if prompt < max_model_len:
        return None
    return f"a prompt of {prompt} tokens is refused, as max_model_len is {max_model_len}"
