"""No option is dropped in silence: each one acts somewhere, or is named when it is given."""

import re
from dataclasses import fields
from pathlib import Path

import pytest

import mockvllm
from mockvllm.settings import Environment, SettingsError, check, parse
from mockvllm.settings.record import GROUPS, knobs
from mockvllm.settings.unmodelled import OPTIONS, VARIABLES

PACKAGE = Path(mockvllm.__file__).parent
DECLARATIONS = {"frontend.py", "model.py", "cache.py", "parallel.py", "scheduler.py", "mock.py", "environment.py"}
CODE = "\n".join(
    path.read_text()
    for path in sorted(PACKAGE.rglob("*.py"))
    if not (path.parent.name == "settings" and path.name in DECLARATIONS | {"unmodelled.py"})
)
CHECKED_ONLY = {"enable_log_requests", "enable_log_outputs", "kv_offloading_backend", "reasoning_effort_map"}


def acts(name: str) -> bool:
    return re.search(rf"(settings|environment|env)\.{name}\b", CODE) is not None


@pytest.mark.parametrize("name", [declared.name for group in GROUPS for declared in knobs(group)])
def test_every_option_acts_or_is_named(name: str) -> None:
    if name not in ("config", "served_model_name"):  # read by the parser, and by `model_names`
        assert acts(name) != (name in OPTIONS) or name in CHECKED_ONLY


@pytest.mark.parametrize("name", [declared.name for declared in fields(Environment)])
def test_every_variable_acts_or_is_named(name: str) -> None:
    if name != "VLLM_LOG_STATS_INTERVAL":
        assert acts(name) != (name in VARIABLES)


def test_what_has_no_effect_is_said() -> None:
    settings = parse(["--max-num-queued-reqs", "3", "--enable-lora"], {"VLLM_DP_RANK": "1"})
    assert "accepted and ignored: --max-num-queued-reqs, --enable-lora" in settings.notes
    assert "set and ignored: VLLM_DP_RANK" in settings.notes
    assert parse(["--max-num-seqs", "3"]).notes == ()


def test_a_prompt_that_could_never_be_scheduled_is_no_setting() -> None:
    flags = ["--no-enable-chunked-prefill", "--max-num-scheduled-tokens", "1000"]
    with pytest.raises(SettingsError, match=r"max_num_scheduled_tokens \(1000\).*max_model_len \(8192\)"):
        check(parse(flags), Environment())
    check(parse([*flags, "--max-model-len", "1000"]), Environment())
