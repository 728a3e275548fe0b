"""What reads the results of `vllm bench serve` reads these."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from simulated import run

from mockvllm.cli.main import main

LOADS = (
    ("--max-concurrency", 4, "--random-input-len", 300, "--random-output-len", 60),
    ("--max-concurrency", 24, "--random-input-len", 900, "--random-output-len", 40),
    ("--request-rate", 6, "--random-input-len", 1500, "--random-output-len", 90, "--random-range-ratio", 0.5),
)
CONSTANTS = {
    "linear_base_ms": 21.0,
    "linear_prefill_ms_per_token": 0.031,
    "linear_decode_ms_per_seq": 0.17,
    "linear_kv_ms_per_token": 0.0004,
}


def command(*words: object) -> Any:
    out = StringIO()
    with redirect_stdout(out), pytest.raises(SystemExit) as end:
        main([*map(str, words), "--json"])
    assert not end.value.code
    return json.loads(out.getvalue())


def test_fit_finds_the_constants_again(tmp_path: Path) -> None:
    flags = [word for name, value in CONSTANTS.items() for word in ("--" + name.replace("_", "-"), value)]
    paths = [tmp_path / f"{number}.json" for number in range(len(LOADS))]
    for path, load in zip(paths, LOADS, strict=True):
        done = run(
            *("--num-prompts", 120, *load, "--step-time", "linear", *flags, "--no-enable-prefix-caching"),
            *("--save-detailed", "--result-filename", path),
        )
        assert done.status == 0
    found = command("fit", *paths)
    assert {name: found[name] for name in CONSTANTS} == pytest.approx(CONSTANTS, rel=0.02)


def test_a_sweep_is_read(tmp_path: Path) -> None:
    paths = []
    for concurrency in (2, 8, 32):
        paths.append(tmp_path / f"{concurrency}.json")
        done = run(
            *("--num-prompts", 60, "--max-concurrency", concurrency, "--random-input-len", 500),
            *("--random-output-len", 30, "--step-time", "linear", "--linear-base-ms", 30),
            *("--linear-decode-ms-per-seq", 1.0, "--goodput", "ttft:1000", "tpot:50", "--result-filename", paths[-1]),
        )
        assert done.status == 0
    sweep = command("sweep", *paths)
    assert [point["concurrency"] for point in sweep["points"]] == [2, 8, 32]
    assert [point["ok"] for point in sweep["points"]] == [True, True, False]
    assert sweep["knee"]["concurrency"] == 8
