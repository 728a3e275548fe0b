from pathlib import Path

import pytest
from mixed import RECORDINGS
from recorded_model import unpack_model

from mockvllm.conformance.recordings import Case, read


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the recorded model."""
    return unpack_model(tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def recorded() -> list[Case]:
    """Every recorded exchange that can be asked by itself."""
    return read(RECORDINGS)
