"""`--uds`: a listening socket that is a file."""

import errno
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mockvllm.settings import SettingsError

PROBE_SECONDS = 1.0


@contextmanager
def unix_socket(path: str) -> Iterator[socket.socket]:
    """Bound to `path` until the block ends; then the file is removed, unless it is another's by then.

    A file that nobody listens on (its server was killed) is replaced. SettingsError for a path that cannot be one,
    OSError for one in use, both with the path.
    """
    file = Path(path)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        try:
            remove_stale(file)
            sock.bind(path)
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                raise OSError(error.errno, f"cannot listen on --uds {path}: {error.strerror}") from None
            raise SettingsError(f"--uds {path}: {error.strerror or error}") from None
        own = file.stat()
        try:
            yield sock
        finally:
            with suppress(FileNotFoundError):
                if os.path.samestat(own, file.stat()):
                    file.unlink()


def remove_stale(file: Path) -> None:
    if not file.exists():
        return
    if not file.is_socket():
        raise SettingsError(f"--uds {file}: there is a file that is no socket")
    if not listens(file):
        file.unlink()


def listens(file: Path) -> bool:
    """Whether somebody does, be he ever so busy."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(file))
        except ConnectionRefusedError:
            return False
        except (TimeoutError, BlockingIOError):
            return True
    return True
