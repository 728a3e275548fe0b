"""Results, by version and group: as JSON, as JUnit XML."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any
from xml.etree import ElementTree as ET

from mockvllm.conformance.replay import Result

NOT_XML = {code: "\ufffd" for code in range(32) if chr(code) not in "\t\n\r"}


@dataclass(frozen=True, slots=True)
class Group:
    version: str
    name: str
    results: Sequence[Result]

    @property
    def equal(self) -> int:
        return sum(result.difference is None for result in self.results)


def groups(results: Iterable[Result]) -> list[Group]:
    def key(result: Result) -> tuple[str, str]:
        return result.case.version, result.case.group

    return [Group(*of, list(members)) for of, members in groupby(sorted(results, key=key), key)]


def as_json(found: Sequence[Group]) -> dict[str, Any]:
    return {
        "cases": sum(len(group.results) for group in found),
        "equal": sum(group.equal for group in found),
        "groups": [
            {"version": group.version, "group": group.name, "cases": len(group.results), "equal": group.equal}
            for group in found
        ],
        "differences": [
            {
                "version": group.version,
                "group": group.name,
                "case": result.case.name,
                "differs": result.difference.what,
                "expected": result.difference.expected,
                "got": result.difference.got,
            }
            for group in found
            for result in group.results
            if result.difference is not None
        ],
    }


def as_junit(found: Sequence[Group]) -> str:
    """A suite for each group, a test for each case; a difference is a failure."""
    root = ET.Element("testsuites", name="mockvllm conform")
    for group in found:
        failures = len(group.results) - group.equal
        name = f"{group.version}/{group.name}"
        suite = ET.SubElement(root, "testsuite", name=name, tests=str(len(group.results)), failures=str(failures))
        for result in group.results:
            test = ET.SubElement(suite, "testcase", classname=name, name=result.case.name)
            if result.difference is not None:
                failure = ET.SubElement(test, "failure", message=f"{result.difference.what} differs")
                sides = f"expected: {result.difference.expected}\ngot: {result.difference.got}"
                failure.text = sides.translate(NOT_XML)
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True) + "\n"
