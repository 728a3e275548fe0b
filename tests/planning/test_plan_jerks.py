"""`mockvllm plan jerks`: the lesson's figures, the same draws by another hand, and what it refuses."""

import random
import statistics

import pytest
from figures import refusal, run, show
from hypothesis import given, settings
from hypothesis import strategies as st


def test_the_lesson() -> None:
    rows = [{key: round(value, 1) for key, value in row.items() if key != "share"} for row in show("plan", "jerks")]
    keys = ("tpot_p50_ms", "tpot_p95_ms", "itl_p50_ms", "itl_p95_ms", "itl_p99_ms")
    assert rows == [
        dict(zip(keys, (45.0, 47.0, 43.1, 48.6, 150.6), strict=True)),
        dict(zip(keys, (49.2, 51.9, 43.3, 130.6, 168.8), strict=True)),
    ]
    assert [row["share"] for row in show("plan", "jerks")] == [0.02, 0.06]


def test_the_table_says_which_keeps_the_promise() -> None:
    lines = run("plan", "jerks").out.splitlines()
    assert [("meets 50" in line, "misses 50" in line) for line in lines if "%" in line] == [
        (True, False),
        (False, True),
    ]


@given(share=st.floats(0, 1), requests=st.integers(2, 30), gaps=st.integers(2, 30), seed=st.integers(0, 2**32))
@settings(max_examples=25)
def test_other_inputs_follow_the_same_rule(share: float, requests: int, gaps: int, seed: int) -> None:
    rng = random.Random(seed)
    drawn = []
    for _ in range(requests * gaps):
        big = rng.random() < share
        drawn.append(rng.gauss(150, 20) if big else max(30, rng.gauss(43, 3)))
    tpot = [statistics.fmean(drawn[i * gaps : (i + 1) * gaps]) for i in range(requests)]
    percentile = {n: (statistics.quantiles(tpot, n=100, method="inclusive")[n - 1]) for n in (50, 95)}
    itl = {n: statistics.quantiles(drawn, n=100, method="inclusive")[n - 1] for n in (50, 95, 99)}
    [row] = show("plan", "jerks", "--share", share, "--requests", requests, "--gaps", gaps, "--seed", seed)
    assert row["share"] == share
    for number, value in percentile.items():
        assert row[f"tpot_p{number}_ms"] == pytest.approx(value)
    for number, value in itl.items():
        assert row[f"itl_p{number}_ms"] == pytest.approx(value)


def test_shares_can_be_percentages() -> None:
    assert show("plan", "jerks", "--share", "2%,6 %") == show("plan", "jerks", "--share", "0.02,0.06")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--share", "1.01"], "'--share': must be a share from 0 to 1, not 1.01"),
        (["--share", "-0.1"], "'--share': must be a share from 0 to 1, not -0.1"),
        (["--share", "nan"], "'--share': must be a share from 0 to 1, not nan"),
        (["--share", "0.1,two"], "not two (in 0.1,two)"),
        (["--requests", "0"], "'--requests': must be a positive whole number, not 0"),
        (["--gaps", "1.5"], "'--gaps': must be a positive whole number, not 1.5"),
        (["--seed", "-1"], "'--seed': must be a whole number and not negative, not -1"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("plan", "jerks", *words)
