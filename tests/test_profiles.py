import pytest

from mockvllm import profiles


def test_every_profile_loads_and_reports_its_release() -> None:
    assert [profiles.load(name).version for name in profiles.NAMES] == ["0.30.0", "0.32.0", "0.33.0"]


def test_an_unknown_profile_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match=r"no profile '0\.29'.*0\.30, 0\.32, 0\.33"):
        profiles.load("0.29")
