"""The option with which CI refuses skipped tests (conftest.py)."""

import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).with_name("conftest.py")


def run(folder: Path, body: str, *options: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_sample.py").write_text(f"import pytest\ndef test_one():\n    {body}\n")
    argv = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "conftest",
        "-c",
        str(folder / "none.ini"),
        *options,
        str(folder),
    ]
    (folder / "none.ini").write_text("[pytest]\n")
    return subprocess.run(argv, cwd=CONFTEST.parent, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize(("body", "status"), [("pass", 0), ("pytest.skip('no nginx')", 1), ("assert False", 1)])
def test_a_skip_fails_the_run_that_forbids_it(tmp_path: Path, body: str, status: int) -> None:
    assert run(tmp_path, body, "--no-skips").returncode == status


def test_the_reason_is_told(tmp_path: Path) -> None:
    printed = run(tmp_path, "pytest.skip('no nginx')", "--no-skips").stdout
    assert "--no-skips: 1 skipped, so this run failed" in printed
    assert printed.splitlines()[-1].startswith("1 skipped")


def test_a_skip_is_fine_elsewhere(tmp_path: Path) -> None:
    assert run(tmp_path, "pytest.skip('no nginx')").returncode == 0
