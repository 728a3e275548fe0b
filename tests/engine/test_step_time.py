"""Linear step times, on the engine that they drive."""

import pytest
from workloads import Words, config, request

from mockvllm.engine import Engine, EngineCore, Linear, Request


def long_prompt_among(decoding: int, budget: int, step: Linear) -> tuple[float, float]:
    """A prompt of 6,000 arrives while `decoding` requests decode: (its time to first token, their worst gap)."""
    engine = Engine(
        config(10_000, max_num_batched_tokens=budget, async_scheduling=False, enable_prefix_caching=False), step
    )
    core, now = EngineCore(engine), 0.0
    others = [request(f"d{i}", prompt=8, max_tokens=500) for i in range(decoding)]
    for r in others:
        engine.add(r, 0.0)

    def tick() -> None:
        nonlocal now
        batch = core.begin(now)
        assert batch is not None
        now += batch.step_seconds
        core.complete(now)

    while any(r.num_output_tokens < 2 for r in others):
        tick()
    arrived, new = now, request("new", prompt=6000, max_tokens=2, outputs=Words())
    engine.add(new, now)
    gaps, last = [], now
    while new.first_token_at is None:
        tick()
        gaps.append(now - last)
        last = now
    return new.first_token_at - arrived, max(gaps)


@pytest.mark.parametrize(
    ("budget", "ttft", "gap"),
    [(8192, 0.495, 0.495), (2048, 0.630, 0.1932), (512, 1.080, 0.078)],
)
def test_chunked_prefill_trades_first_token_for_gaps(budget: int, ttft: float, gap: float) -> None:
    measured = long_prompt_among(72, budget, Linear(0.045, per_prefill_token=75e-6))
    assert measured == (pytest.approx(ttft), pytest.approx(gap))


def test_another_load_follows_the_same_rule() -> None:
    """6,000 tokens in chunks of 1,000 - 10 decodes: seven steps of 990 at most, the last of 60."""
    ttft, gap = long_prompt_among(10, 1000, Linear(0.02, per_prefill_token=1e-5, per_decode_seq=1e-3))
    assert ttft == pytest.approx(7 * (0.02 + 10e-3) + 6000e-5)
    assert gap == pytest.approx(0.02 + 990e-5 + 10e-3)


def test_each_term_counts_what_it_says() -> None:
    step = Linear(base=1.0, per_prefill_token=0.1, per_decode_seq=0.01, per_kv_token=0.001)
    engine = Engine(config(async_scheduling=False), step)

    def seconds(*added: Request) -> float:
        for r in added:
            engine.add(r, 0.0)
        batch = engine.schedule(0.0)
        engine.update(batch, 0.0)
        return batch.step_seconds

    assert seconds(request("a", prompt=10)) == pytest.approx(1 + 10 * 0.1 + 10 * 0.001)
    assert seconds() == pytest.approx(1 + 0.01 + 11 * 0.001)
    assert seconds(request("b", prompt=20)) == pytest.approx(1 + 20 * 0.1 + 0.01 + (12 + 20) * 0.001)


def test_an_empty_batch_takes_no_time() -> None:
    assert Engine(config(), Linear(1.0)).schedule(0.0).step_seconds == 0.0
