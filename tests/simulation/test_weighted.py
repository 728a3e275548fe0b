"""Statistics of counted values are those of the values written out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockvllm_client.measure import Distribution

from mockvllm.simulation.weighted import distribution

values = st.floats(0, 100, allow_subnormal=False)


@given(
    st.dictionaries(values, st.integers(1, 50), max_size=8),
    st.lists(st.floats(0.01, 100), max_size=4, unique=True),
    st.sampled_from([1.0, 1000.0]),
)
def test_as_if_written_out(counts: dict[float, int], percentiles: list[float], scale: float) -> None:
    counted = distribution(counts, percentiles, scale)
    written = Distribution.of((value * scale for value, count in counts.items() for _ in range(count)), percentiles)
    assert counted.mean == pytest.approx(written.mean)
    assert counted.median == pytest.approx(written.median)
    assert counted.std == pytest.approx(written.std, abs=1e-6)
    assert counted.percentiles == pytest.approx(written.percentiles)
