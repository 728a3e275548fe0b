"""SHA-256 of many files at once: one process for each core."""

import hashlib
import multiprocessing
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized

BUFFER_BYTES = 1 << 20
SMALL_BYTES = 64 << 20  # less than this in all is hashed before a second process has started
POLL_S = 0.1

Progress = Callable[[int], None]
"""Told how many bytes have been read in all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """`digest` in hexadecimal, or `error`: why there is none."""

    digest: str = ""
    error: str = ""


def hash_files(
    sizes: Mapping[str, int], progress: Progress, processes: int | None = None
) -> Iterator[tuple[str, Outcome]]:
    """The outcome of each path, in any order. `sizes` in bytes; the largest files are read first."""
    paths = sorted(sizes, key=lambda path: -sizes[path])
    workers = min(processes or len(os.sched_getaffinity(0)), len(paths))
    if workers < 2 or sum(sizes.values()) < SMALL_BYTES:
        return _here(paths, progress)
    return _in_processes(paths, progress, workers)


def hash_file(path: str, add: Progress) -> Outcome:
    """Read one regular file, telling `add` of each piece. Whatever else it is, or becomes, is not waited for."""
    try:
        with open(path, "rb", buffering=0, opener=_open) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Outcome(error="is no regular file")
            digest, buffer = hashlib.sha256(), memoryview(bytearray(BUFFER_BYTES))
            while count := file.readinto(buffer):
                digest.update(buffer[:count])
                add(count)
            return Outcome(digest=digest.hexdigest())
    except OSError as error:
        return Outcome(error=error.strerror or "cannot be read")


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)


def _here(paths: list[str], progress: Progress) -> Iterator[tuple[str, Outcome]]:
    done = 0

    def add(count: int) -> None:
        nonlocal done
        done += count
        progress(done)

    for path in paths:
        yield path, hash_file(path, add)


_read_bytes: "Synchronized[int]"


def _start_worker(counter: "Synchronized[int]") -> None:
    global _read_bytes
    _read_bytes = counter


def _work(path: str) -> Outcome:
    def add(count: int) -> None:
        with _read_bytes.get_lock():
            _read_bytes.value += count

    return hash_file(path, add)


def _in_processes(paths: list[str], progress: Progress, workers: int) -> Iterator[tuple[str, Outcome]]:
    context = multiprocessing.get_context("spawn")  # a fork would copy the threads of a progress bar
    counter = context.Value("Q", 0)
    with ProcessPoolExecutor(workers, context, _start_worker, (counter,)) as pool:
        waiting: dict[Future[Outcome], str] = {pool.submit(_work, path): path for path in paths}
        while waiting:
            done, _ = wait(waiting, POLL_S, FIRST_COMPLETED)
            progress(counter.value)
            for future in done:
                yield waiting.pop(future), future.result()
