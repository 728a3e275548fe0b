"""scripts/install on machines that have different things: a folder of stand-ins is all that its PATH holds."""

import subprocess
from pathlib import Path

import pytest

INSTALL = Path(__file__).parents[2] / "scripts" / "install"
TOOLS = ("sh", "mktemp", "rm", "mkdir", "cp", "chmod")

# An interpreter that can do what its switches say; it writes down how it was called.
PYTHON = """#!/bin/sh
echo "python $*" >> "$LOG"
case "$*" in
    "-c "*) exit {too_old} ;;
    --version) echo "Python {version}" ;;
    "-m venv "*) [ {venv} = yes ] && mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/pip" ;;
    "-m pip "*) [ {pip} = yes ] || [ "${{0%/bin/python}}" != "$0" ] ;;
    "-m virtualenv --quiet "*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" ;;
esac
"""
UV = '#!/bin/sh\necho "uv $*" >> "$LOG"\n'


class Machine:
    def __init__(self, folder: Path) -> None:
        self.venv, self.log, self.bin = folder / "venv", folder / "log", folder / "tools"
        self.bin.mkdir()
        for tool in TOOLS:
            (self.bin / tool).symlink_to(Path("/bin") / tool)

    def has(self, name: str, script: str) -> None:
        (self.bin / name).write_text(script)
        (self.bin / name).chmod(0o755)

    def has_python(self, name: str = "python3", version: str = "3.12.1", venv: str = "yes", pip: str = "yes") -> None:
        too_old = int(tuple(map(int, version.split("."))) < (3, 11))
        self.has(name, PYTHON.format(version=version, too_old=too_old, venv=venv, pip=pip))

    def install(self, python: str = "") -> subprocess.CompletedProcess[str]:
        env = {"PATH": str(self.bin), "LOG": str(self.log), "PYTHON": python}
        argv = ["/bin/sh", str(INSTALL), str(self.venv), "-e", "."]
        return subprocess.run(argv, env=env, capture_output=True, text=True, timeout=60)

    def calls(self) -> str:
        return self.log.read_text()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_uv_is_taken_when_it_is_there(machine: Machine) -> None:
    machine.has("uv", UV)
    machine.has_python()
    assert machine.install().returncode == 0
    assert f"uv venv --quiet --python {machine.bin}/python3 {machine.venv}" in machine.calls()
    assert f"uv pip install --quiet --python {machine.venv}/bin/python -e ." in machine.calls()


def test_uv_finds_a_python_where_the_machine_has_none(machine: Machine) -> None:
    machine.has("uv", UV)
    assert machine.install().returncode == 0
    assert "uv venv --quiet --python >=3.11" in machine.calls()


def test_venv_without_uv(machine: Machine) -> None:
    machine.has_python()
    assert machine.install().returncode == 0
    assert machine.calls().splitlines()[-1] == "python -m pip install --quiet -e ."
    assert (machine.venv / "bin" / "python").exists()


def test_pip_alone_brings_virtualenv(machine: Machine) -> None:
    machine.has_python(venv="no")
    assert machine.install().returncode == 0
    assert "virtualenv --quiet" in machine.calls()
    assert (machine.venv / "bin" / "python").exists()


def test_the_first_python_that_is_new_enough_is_taken(machine: Machine) -> None:
    machine.has_python("python3", "3.9.2")
    machine.has_python("python3.13", "3.13.0")
    run = machine.install()
    assert run.returncode == 0
    assert run.stderr == "mockvllm: python3 is too old: Python 3.9.2\n"


def test_an_interpreter_that_was_named_is_the_only_one_tried(machine: Machine) -> None:
    machine.has_python("python3", "3.12.0")
    machine.has_python("old", "3.10.14")
    run = machine.install(python="old")
    assert run.returncode == 1
    assert "old is too old: Python 3.10.14" in run.stderr
    assert "needs Python 3.11 or later (tried: old)" in run.stderr


def test_no_python_names_the_debian_package(machine: Machine) -> None:
    run = machine.install()
    assert run.returncode == 1
    assert "needs Python 3.11 or later" in run.stderr
    assert "apt-get install python3-venv" in run.stderr


def test_neither_venv_nor_pip_names_what_to_install(machine: Machine) -> None:
    machine.has_python(venv="no", pip="no")
    run = machine.install()
    assert run.returncode == 1
    assert run.stderr.endswith(
        "has neither venv nor pip. Debian: apt-get install python3-venv. Elsewhere: install uv, or pip\n"
    )
