from pathlib import Path

import pytest
from recorded_model import unpack_model


@pytest.fixture(scope="session")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The directory of the recorded model."""
    return unpack_model(tmp_path_factory.mktemp("model"))
