"""What a client notices between two releases."""

import json
from dataclasses import fields

import pytest
from mixed import all_rules

from mockvllm import profiles
from mockvllm.cli.main import main
from mockvllm.conformance.profile_diff import changes
from mockvllm.conformance.recordings import Case
from mockvllm.profiles.rule import Rule, rule_of
from mockvllm.settings import Settings

PAIRS = [("0.30", "0.32"), ("0.32", "0.33"), ("0.30", "0.33")]
on_every_pair = pytest.mark.parametrize(("before", "after"), PAIRS)
on_every_rule = pytest.mark.parametrize(("section", "name"), all_rules())


def rule(section: str, name: str) -> Rule:
    rules = fields(type(getattr(profiles.load("0.33"), section)))
    return rule_of(next(field for field in rules if field.name == name))


@on_every_rule
def test_a_rule_says_what_a_client_notices_and_where(section: str, name: str) -> None:
    declared = rule(section, name)
    assert declared.text
    assert bool(declared.seen_in) != bool(declared.needs)


@on_every_rule
def test_what_shows_a_rule_was_recorded_from_every_release(section: str, name: str, recorded: list[Case]) -> None:
    shown = rule(section, name).seen_in
    versions = {case.version for case in recorded if f"{case.group}/{case.name}" == shown}
    assert not shown or versions == {profiles.load(release).version for release in profiles.NAMES}


@on_every_rule
def test_a_rule_differs_between_some_releases(section: str, name: str) -> None:
    values = [getattr(getattr(profiles.load(release), section), name) for release in profiles.NAMES]
    assert any(value != values[0] for value in values)


@on_every_pair
def test_whatever_differs_is_listed_once_and_nothing_else(before: str, after: str) -> None:
    one, other = profiles.load(before), profiles.load(after)
    listed = [(change.section, change.rule) for change in changes(one, other) if change.section not in OUTSIDE]
    differing = [of for of in all_rules() if value(one, *of) != value(other, *of)]
    assert sorted(listed) == sorted(differing)


OUTSIDE = ("server", "flags")
"""Not in the profiles' sections."""


def value(profile: profiles.Profile, section: str, name: str) -> object:
    return getattr(getattr(profile, section), name)


@on_every_pair
def test_the_other_way_round_it_is_the_same_mirrored(before: str, after: str) -> None:
    one, other = profiles.load(before), profiles.load(after)
    mirrored = [(change.rule, change.after, change.before) for change in changes(other, one)]
    assert [(change.rule, change.before, change.after) for change in changes(one, other)] == mirrored


def test_a_release_does_not_differ_from_itself() -> None:
    assert changes(profiles.load("0.32"), profiles.load("0.32")) == []


def test_defaults_of_flags_are_listed() -> None:
    found = {change.rule: change for change in changes(profiles.load("0.30"), profiles.load("0.32"))}
    assert (found["allowed_origins"].before, found["allowed_origins"].after) == (["*"], [])
    assert "--allowed-origins" in found["allowed_origins"].text
    assert {change.rule for change in found.values() if change.section == "flags"} <= {
        field.name for field in fields(Settings)
    }


def run(*argv: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["profile", *argv])
    return int(ended.value.code or 0)


def test_the_command_prints_both_values_and_the_exchange(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "vllm-0.30", "0.33.0") == 0
    printed = capsys.readouterr().out
    [line] = [line for line in printed.splitlines() if "lists the valid aliases" in line]
    assert line.split()[-3:] == ["no", "yes", "chat_body/wrong_model"]
    assert printed.splitlines()[-1].split()[1:] == ["differences"]


def test_the_command_as_json_has_every_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "0.32", "0.33", "--json") == 0
    printed = json.loads(capsys.readouterr().out)
    assert (printed["before"], printed["after"]) == ("0.32.0", "0.33.0")
    wanted = [change.rule for change in changes(profiles.load("0.32"), profiles.load("0.33"))]
    assert [change["rule"] for change in printed["changes"]] == wanted


def test_an_unknown_release_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("diff", "0.30", "0.29") == 2
    assert capsys.readouterr().err == "mockvllm profile: error: no profile '0.29': choose from 0.30, 0.32, 0.33\n"
