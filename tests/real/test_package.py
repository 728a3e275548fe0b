"""What is published: the wheel holds both packages with their data and types, the sdist builds that same wheel."""

import subprocess
import sys
import zipfile
from collections.abc import Sequence
from email import message_from_bytes
from email.message import Message
from pathlib import Path

import pytest

from mockvllm.cli.main import COMMANDS

ROOT = Path(__file__).parents[2]
EXTRAS = ("cbor2", "jinja2", "llguidance", "matplotlib", "numpy", "scipy", "tokenizers", "xxhash", "zmq")
WITHOUT_EXTRAS = f"""
import sys
sys.modules.update(dict.fromkeys({EXTRAS!r}))  # None: as if it were not installed
from mockvllm.cli.main import main
main(sys.argv[1:])
"""


def build(source: Path, kind: str, target: Path) -> Path:
    argv = [sys.executable, "-m", "hatchling", "build", "--target", kind, "--directory", str(target)]
    subprocess.run(argv, cwd=source, check=True, capture_output=True, timeout=120)
    [built] = target.glob("*.whl" if kind == "wheel" else "*.tar.gz")
    return built


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    with zipfile.ZipFile(build(ROOT, "wheel", tmp_path_factory.mktemp("wheel"))) as opened:
        return opened


@pytest.fixture(scope="module")
def metadata(wheel: zipfile.ZipFile) -> Message:
    [path] = [name for name in wheel.namelist() if name.endswith(".dist-info/METADATA")]
    with zipfile.ZipFile(str(wheel.filename)) as opened:
        return message_from_bytes(opened.read(path))


def sources(root: Path, package: str) -> set[str]:
    files = (path for path in (root / package).rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {str(path.relative_to(root)) for path in files}


def test_the_wheel_holds_every_file_of_both_packages(wheel: zipfile.ZipFile) -> None:
    expected = sources(ROOT, "mockvllm") | sources(ROOT / "client", "mockvllm_client")
    packaged = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert {"mockvllm/profiles/0_33.toml", "mockvllm/py.typed", "mockvllm_client/py.typed"} <= packaged
    assert packaged == expected


def test_the_metadata_names_the_licence_the_python_and_the_extras(wheel: zipfile.ZipFile, metadata: Message) -> None:
    assert metadata["License-Expression"] == "Apache-2.0"
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in wheel.namelist())
    assert metadata["Requires-Python"] == ">=3.11"
    extras = set(metadata.get_all("Provides-Extra", []))
    assert {"tokenizer", "structured", "kv-events", "plot", "all"} <= extras


def test_every_requirement_has_a_floor_and_no_ceiling(metadata: Message) -> None:
    requirements: Sequence[str] = [text for text in metadata.get_all("Requires-Dist", []) if "mockvllm[" not in text]
    assert requirements
    assert [text for text in requirements if ">=" not in text or "<" in text or "==" in text.partition(";")[0]] == []


def test_the_sdist_builds_the_same_wheel(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    archive = build(ROOT, "sdist", tmp_path / "sdist")
    subprocess.run(["tar", "-xzf", str(archive)], cwd=tmp_path, check=True, timeout=60)
    [unpacked] = [path for path in tmp_path.iterdir() if path.name.startswith("mockvllm-")]
    with zipfile.ZipFile(build(unpacked, "wheel", tmp_path / "wheel")) as again:
        assert sorted(again.namelist()) == sorted(wheel.namelist())
    assert (unpacked / "Makefile").exists()
    assert not list(unpacked.glob(".image")) + list(unpacked.glob(".venv"))


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_needs_an_extra_to_start(command: str) -> None:
    argv = [sys.executable, "-c", WITHOUT_EXTRAS, command, "--help"]
    run = subprocess.run(argv, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr
    assert "usage" in run.stdout.lower()
