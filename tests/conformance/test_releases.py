"""What recorded requests show between two servers of ours is what `profile diff` lists: no more and no less."""

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from pathlib import Path

import pytest
import support
from mixed import RECORDINGS, ask, mixed

from mockvllm import profiles
from mockvllm.cli.main import main
from mockvllm.conformance import servers
from mockvllm.conformance.profile_diff import Change, changes
from mockvllm.conformance.recordings import Answer, Case
from mockvllm.conformance.replay import comparison
from mockvllm.conformance.selection import of_flags, of_version
from mockvllm.profiles import Profile

pytestmark = pytest.mark.slow

Answers = Mapping[str, Answer]
PAIRS = [("0.30", "0.33"), ("0.32", "0.33")]


@dataclass(frozen=True)
class Releases:
    """Two releases, and what servers that stand between them answer to the recorded requests."""

    before: Profile
    after: Profile
    cases: Sequence[Case]
    model: Path

    @cached_property
    def changes(self) -> list[Change]:
        return changes(self.before, self.after)

    def answers(self, base: Profile, other: Profile, taken: Collection[Change], cases: Sequence[Case]) -> Answers:
        """Of `base` with the changes `taken` over from `other`."""
        rules = [(change.section, change.rule) for change in taken if change.section not in ("server", "flags")]
        profile, defaults = mixed(base, other, rules), base
        if any(change.rule == "version" for change in taken):
            profile = replace(profile, version=other.version)
        if any(change.section == "flags" for change in taken):
            defaults = other
        found: dict[str, Answer] = {}
        for _, same in groupby(cases, lambda case: (case.flags, case.env)):
            found |= ask(profile, list(same), self.model, ("--profile", defaults.name))
        return found

    @cached_property
    def of_before(self) -> Answers:
        return self.answers(self.before, self.before, (), self.cases)

    @cached_property
    def of_after(self) -> Answers:
        return self.answers(self.after, self.after, (), self.cases)

    @cached_property
    def findings(self) -> set[str]:
        return self.differing(self.of_before, self.of_after, self.before, self.after)

    def differing(self, expected: Answers, got: Answers, before: Profile, after: Profile) -> set[str]:
        """The names of the cases whose answers differ, of servers that say they are these releases."""
        asked = ((f"{case.group}/{case.name}", comparison(case, before.version, after.version)) for case in self.cases)
        return {name for name, judge in asked if name in got and judge.difference(expected[name], got[name])}


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def releases(request: pytest.FixtureRequest, recorded: list[Case], model: Path) -> Releases:
    before, after = (profiles.load(name) for name in request.param)
    cases = sorted(of_version(recorded, "0.33"), key=lambda case: (case.flags, case.env))
    return Releases(before, after, cases, model)


def test_no_more_whoever_takes_over_what_is_listed_answers_as_the_other_release(releases: Releases) -> None:
    became = releases.answers(releases.before, releases.after, releases.changes, releases.cases)
    assert releases.findings
    assert releases.differing(became, releases.of_after, releases.after, releases.after) == set()


def test_no_less_what_is_said_to_be_seen_is_seen(releases: Releases) -> None:
    seen = [change for change in releases.changes if change.seen_in]
    assert {change.seen_in for change in seen} <= releases.findings
    assert [change.rule for change in seen if not decides(change, releases)] == []


def decides(change: Change, releases: Releases) -> bool:
    """Whether this change alone makes a difference to its exchange, from one release or back from the other."""
    cases = [case for case in releases.cases if f"{case.group}/{case.name}" == change.seen_in]
    ways = (
        (releases.before, releases.after, releases.of_before),
        (releases.after, releases.before, releases.of_after),
    )
    return any(
        releases.differing(usual, releases.answers(base, other, [change], cases), base, base)
        for base, other, usual in ways
    )


def test_what_is_said_not_to_be_seen_is_not(releases: Releases) -> None:
    """A recording that shows such a rule is what its declaration should name as `seen_in`."""
    unseen = [change for change in releases.changes if not change.seen_in and change.section != "flags"]
    became = releases.answers(releases.before, releases.after, unseen, releases.cases)
    assert releases.differing(releases.of_before, became, releases.before, releases.before) == set()


def test_conform_finds_it_between_two_servers(releases: Releases, capsys: pytest.CaptureFixture[str]) -> None:
    """In the groups that show something. The older release's server is the live one, the command starts the other."""
    groups = {change.seen_in.partition("/")[0] for change in releases.changes if change.seen_in}
    cases = [case for case in of_flags(releases.cases, ()) if case.group in groups]
    flags = [*servers.flags(cases[0], releases.model), "--profile", releases.before.name]
    argv = ["conform", "--recordings", str(RECORDINGS), "--model", str(releases.model), "--json"]
    argv += ["--version", releases.after.name, *(f"--group={name}" for name in {case.group for case in cases})]
    with support.serve(*flags) as live, pytest.raises(SystemExit) as ended:
        main([*argv, "--live", live.url])
    assert ended.value.code == 1
    reported = json.loads(capsys.readouterr().out)
    found = {f"{difference['group']}/{difference['case']}" for difference in reported["differences"]}
    asked = {f"{case.group}/{case.name}" for case in cases}
    assert reported["cases"] == len(asked)
    assert found == releases.findings & asked
