"""Trust before serving: a directory of weights against its manifest, and the manifest against a pinned hash."""

import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mockvllm.planning.hashing import Progress, hash_files
from mockvllm.planning.manifest import NAME, Entry, ManifestError, parse_manifest


@dataclass(slots=True)
class Verdict:
    """Names relative to the directory; `failed` and `unreadable` say why, and `reason` why the manifest is refused."""

    manifest: bool = True
    reason: str = ""
    failed: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    unlisted: list[str] = field(default_factory=list)
    unreadable: dict[str, str] = field(default_factory=dict)
    files: int = 0
    size: int = 0

    @property
    def ok(self) -> bool:
        return self.manifest and not (self.failed or self.missing or self.unlisted or self.unreadable)


def verify(
    directory: Path,
    manifest_sha256: str,
    start: Callable[[int], Progress] = lambda total: lambda done: None,
    allow_links_outside: bool = False,
) -> Verdict:
    """Check the manifest's own hash, then each listed file, then that nothing else is there.

    A manifest that fails is not read further, and no file is. `start` is told the bytes to come and gives who follows
    them. A symbolic link to a file is followed as long as it stays in the directory, or anywhere with
    `allow_links_outside` (Hugging Face's cache links to `../../blobs`); to a directory it is not.
    """
    verdict = Verdict()
    entries = _read_manifest(directory, manifest_sha256, verdict)
    if entries is None:
        return verdict
    listed = {entry.name: entry.digest for entry in entries}
    for name in _walk(directory, verdict):
        if name not in listed and name != NAME:
            verdict.unlisted.append(name)
    sizes = {
        name: size for name in listed if (size := _size(directory, name, verdict, allow_links_outside)) is not None
    }
    verdict.files, verdict.size = len(sizes), sum(sizes.values())
    paths = {str(directory / name): size for name, size in sizes.items()}
    for path, outcome in hash_files(paths, start(verdict.size)):
        name = os.path.relpath(path, directory)
        if outcome.error:
            verdict.unreadable[name] = outcome.error
        elif outcome.digest != listed[name]:
            verdict.failed[name] = "has another hash"
    return verdict


def _read_manifest(directory: Path, manifest_sha256: str, verdict: Verdict) -> list[Entry] | None:
    path = directory / NAME
    try:
        if not path.is_file():
            raise ManifestError("is no regular file" if path.exists() else "is missing")
        data = path.read_bytes()
        if hashlib.sha256(data).hexdigest() != manifest_sha256.lower():
            raise ManifestError("has another hash than the pinned one")
        return parse_manifest(data)
    except OSError as error:
        verdict.reason = error.strerror or "cannot be read"
    except ManifestError as error:
        verdict.reason = str(error)
    verdict.manifest = False
    return None


def _walk(directory: Path, verdict: Verdict, below: str = "") -> Iterator[str]:
    """Everything that is no directory; links to directories are not followed."""
    try:
        children = sorted(os.scandir(directory / below), key=lambda child: child.name)
    except OSError as error:
        verdict.unreadable[below or "."] = error.strerror or "cannot be read"
        return
    for child in children:
        name = os.path.join(below, child.name)  # noqa: PTH118 (a name, not a path)
        if child.is_dir(follow_symlinks=False):
            yield from _walk(directory, verdict, name)
        else:
            yield name


def _size(directory: Path, name: str, verdict: Verdict, allow_links_outside: bool) -> int | None:
    """The size of a listed file; None, and the verdict says why, when it must not or cannot be read."""
    path = directory / name
    try:
        status = path.stat()
        real = Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        verdict.missing.append(name)
        return None
    except OSError as error:
        verdict.unreadable[name] = error.strerror or "cannot be read"
        return None
    if not stat.S_ISREG(status.st_mode):
        verdict.failed[name] = "is no regular file"
    elif Path(os.path.realpath(path.parent)) != Path(os.path.realpath(directory)) / Path(name).parent:
        verdict.failed[name] = "lies behind a link to a directory"
    elif not (allow_links_outside or real.is_relative_to(os.path.realpath(directory))):
        verdict.failed[name] = "is a link that leaves the directory"
    else:
        return status.st_size
    return None
