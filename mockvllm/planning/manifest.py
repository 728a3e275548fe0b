"""A `SHA256SUMS` file, as `sha256sum` of GNU coreutils writes and reads it."""

import os
import re
from dataclasses import dataclass
from pathlib import PurePosixPath

NAME = "SHA256SUMS"

_LINE = re.compile(rb"[ \t]*(\\?)([0-9a-fA-F]{64})[ \t](?:[ *]|(?![ *]))(.+)", re.DOTALL)
_TAGGED = re.compile(rb"[ \t]*(\\?)SHA256 \((.+)\) = ([0-9a-fA-F]{64})", re.DOTALL)
_ESCAPES = {b"\\\\": b"\\", b"\\n": b"\n", b"\\r": b"\r"}
_ESCAPE = re.compile(rb"\\.?", re.DOTALL)


class ManifestError(ValueError):
    """A manifest that must not be trusted. The message is one line that names the line."""


@dataclass(frozen=True, slots=True)
class Entry:
    """`name` relative to the manifest's directory, without `.` and `..`; `digest` in lower-case hexadecimal."""

    name: str
    digest: str


def parse_manifest(data: bytes) -> list[Entry]:
    """The files that a manifest lists: text and binary marks, tagged lines, escaped names, comments, CRLF.

    Raises ManifestError for a line that is none of these, for a name that leads out of the directory, and for one that
    is listed with two hashes.
    """
    entries: dict[str, Entry] = {}
    for number, line in enumerate(data.split(b"\n"), start=1):
        line = line.removesuffix(b"\r")
        if not line.strip() or line.startswith(b"#"):
            continue
        try:
            entry = _entry(line)
        except ManifestError as error:
            raise ManifestError(f"line {number}: {error}") from None
        if entries.setdefault(entry.name, entry) != entry:
            raise ManifestError(f"line {number}: {printable(entry.name)} is listed before with another hash")
    return list(entries.values())


def _entry(line: bytes) -> Entry:
    if match := _LINE.fullmatch(line):
        escaped, digest, name = match.groups()
    elif match := _TAGGED.fullmatch(line):
        escaped, name, digest = match.groups()
    else:
        raise ManifestError("is no SHA-256 sum and file name")
    name = _ESCAPE.sub(_unescape, name) if escaped else name
    return Entry(_inside(os.fsdecode(name)), digest.decode().lower())


def _unescape(match: re.Match[bytes]) -> bytes:
    if match.group() not in _ESCAPES:
        raise ManifestError("has an escape that is none of \\\\, \\n and \\r")
    return _ESCAPES[match.group()]


def _inside(name: str) -> str:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name or not path.parts:
        raise ManifestError(f"{printable(name)} leads out of the directory")
    return str(path)


def printable(name: str) -> str:
    """A file's name on one line, as `sha256sum` escapes it; bytes that are no text as `\\xNN`."""
    if any(sign in name for sign in "\\\n\r"):
        name = name.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return os.fsencode(name).decode("utf-8", "backslashreplace")
