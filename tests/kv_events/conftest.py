from collections.abc import Iterator

import pytest
from subscribers import TIMEOUT_MS, Connect, Socket, context


@pytest.fixture
def connect() -> Iterator[Connect]:
    """Connect a socket that waits a few seconds at most for what it is to receive."""
    sockets = []

    def connect(kind: int, endpoint: str | None) -> Socket:
        assert endpoint is not None
        sock = context().socket(kind)
        sock.rcvtimeo = TIMEOUT_MS
        sock.rcvhwm = 0
        sock.connect(endpoint)
        sockets.append(sock)
        return sock

    yield connect
    for sock in sockets:
        sock.close(linger=0)
