"""Which recorded cases are asked."""

from collections.abc import Collection, Sequence

from mockvllm.conformance.recordings import Case, common_flags
from mockvllm.conformance.servers import CannotRunError


def of_names(cases: Sequence[Case], groups: Collection[str], names: Collection[str]) -> list[Case]:
    """Those of the groups and of the names, where any are given. Raises CannotRunError for one that is not there."""
    for kind, wanted, known in (
        ("group", groups, {case.group for case in cases}),
        ("case", names, {case.name for case in cases}),
    ):
        if missing := sorted(set(wanted) - known):
            raise CannotRunError(f"no recordings of {kind} {', '.join(missing)}")
    return [case for case in cases if (not groups or case.group in groups) and (not names or case.name in names)]


def of_flags(cases: Sequence[Case], flags: Sequence[str]) -> list[Case]:
    """Those recorded from servers with these flags behind the common ones, and without variables: what one server that
    is already there can answer.
    """
    common = common_flags(cases)
    return [case for case in cases if case.flags[common:] == tuple(flags) and not case.environ]


def of_version(cases: Sequence[Case], version: str) -> list[Case]:
    """Those of a release: 0.33 and 0.33.0 are the same. Raises CannotRunError without any."""
    found = [case for case in cases if f"{case.version}.".startswith(f"{version}.")]
    if not found:
        known = sorted({case.version for case in cases})
        raise CannotRunError(f"no recordings of vLLM {version}: there are those of {', '.join(known) or 'none'}")
    return found
