"""The declarations against the 320 options of the real parser (0.33): every spelling, kind and default."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from mockvllm.profiles import NAMES
from mockvllm.settings import Settings, load, parse
from mockvllm.settings.arguments import negatives, split_optional
from mockvllm.settings.help import takes
from mockvllm.settings.ignored import IGNORED, flags_of
from mockvllm.settings.knob import knob_of
from mockvllm.settings.mock import STEP_TIME_PARAMETERS
from mockvllm.settings.parser import DECLARED, build
from mockvllm.settings.record import GROUPS

DATA = Path(__file__).parent.parent / "data" / "settings"
OPTIONS = json.loads((DATA / "options.json").read_text("utf-8"))
RECORDED = json.loads((DATA / "recorded_flags.json").read_text("utf-8"))
SPELLINGS = build().options
IGNORED_FLAGS = {flag for group in IGNORED.values() for key in group for flag in flags_of(key)}
DEVIATIONS = {
    "--model",  # there is a default model
    "--gpu-memory-utilization",  # unset is the reference replica in round figures, given is a share
    "--log-error-stack",  # unset: the environment decides
    "--structured-outputs-config",  # a Python object there
    "--profiler-config",
}

OPPOSITES = ("--no-", "--enable-", "--disable-")
GROUP_NAMES = list(dict.fromkeys(group for group, *_ in OPTIONS))

by_group = pytest.mark.parametrize("group", GROUP_NAMES)


def flags_in(group: str) -> list[list[str]]:
    """The spellings of each option; `--config` reads a file and is tested with the files."""
    return [flags for name, flags, *_ in OPTIONS if name == group and flags[0] != "--config"]


def sample(flag: str) -> list[str]:
    """Something that the option's type can read."""
    action = SPELLINGS[flag]
    if action.nargs == 0:
        return []
    if action.choices:
        return [str(next(iter(action.choices)))]
    declared = DECLARED.get(action.dest)
    if declared is None:
        return ["x"]
    if knob_of(declared).json:
        return ['["*"]']
    return [{"JSON": "{}", "INT": "1", "NUMBER": "0.5"}.get(takes(split_optional(declared.type)[0], False), "a=b")]


@by_group
def test_every_option_is_read_in_every_spelling(group: str) -> None:
    for flags in flags_in(group):
        first, *others = [parse([flag, *sample(flag)]) for flag in flags if flag not in negatives(flags[0])]
        assert (SPELLINGS[flags[0]].dest in first.ignored) == (flags[0] in IGNORED_FLAGS), flags
        assert all(other == first for other in others), flags
        assert parse([flags[0].replace("-", "_").replace("__", "--", 1), *sample(flags[0])]) == first


@by_group
def test_pairs_have_their_negative_forms(group: str) -> None:
    for flags in flags_in(group):
        name = SPELLINGS[flags[0]].dest
        opposites = {flag for flag in flags[1:] if flag.startswith(OPPOSITES)}
        for negative in opposites | set(negatives(flags[0])) if opposites else ():
            settings = parse([flags[0], negative])
            assert settings.ignored.get(name, getattr(settings, name, None)) is False, negative


@by_group
def test_defaults_are_those_of_the_real_parser(group: str) -> None:
    defaults = {flags[0]: default for name, flags, kind, default in OPTIONS if name == group and kind != "ignore"}
    for flag, default in defaults.items():
        if flag not in DEVIATIONS | IGNORED_FLAGS:
            value = as_table(getattr(Settings(), SPELLINGS[flag].dest))
            assert value == default.replace("'", '"').replace("(unset)", "null"), flag


def as_table(value: Any) -> str:
    """A default as the table of options writes it."""
    if isinstance(value, str):
        return value
    return json.dumps(list(value) if isinstance(value, tuple) else value)


def test_groups_are_vllms_in_its_order() -> None:
    assert list(IGNORED)[1:] == GROUP_NAMES[1:]
    assert {group.__name__ for group in GROUPS} - {"Mock"} <= IGNORED.keys()


def test_no_option_is_both_declared_and_ignored() -> None:
    assert not {name.replace("_", "-") for name in DECLARED} & {flag[2:] for flag in IGNORED_FLAGS}


@pytest.mark.parametrize("row", RECORDED, ids=[row["groups"][0] for row in RECORDED])
def test_the_flags_of_every_recording_are_accepted(row: dict[str, Any]) -> None:
    for profile in row["profiles"]:
        ours = ["--profile", profile, "--answer", "repeat", "--ttft-ms", "20", "--itl-ms", "20", "--host", "127.0.0.1"]
        settings, _ = load(["/models/m", *row["flags"], "--num-gpu-blocks-override", "4096", *ours], row["env"])
        assert settings.model == "/models/m"
        assert settings.model_names[0] == "chat-70b-fp8-2026-09-28"
        assert settings.profile == profile


def test_profiles_are_those_that_exist() -> None:
    assert sorted(get_args(DECLARED["profile"].type)) == sorted(NAMES)


def test_each_model_of_step_time_has_its_parameters() -> None:
    assert set(STEP_TIME_PARAMETERS) == set(get_args(DECLARED["step_time"].type))
    assert {name for names in STEP_TIME_PARAMETERS.values() for name in names} <= DECLARED.keys()
