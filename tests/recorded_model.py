"""The tokenizer and config files of the recorded model (`tests/data/model`)."""

import lzma
from pathlib import Path

MODEL_DATA = Path(__file__).parent / "data" / "model"


def unpack_model(directory: Path) -> Path:
    """All of them, in `directory`."""
    for source in MODEL_DATA.iterdir():
        if source.suffix == ".xz":
            (directory / source.stem).write_bytes(lzma.decompress(source.read_bytes()))
        else:
            (directory / source.name).write_bytes(source.read_bytes())
    return directory
