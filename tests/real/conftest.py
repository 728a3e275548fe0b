"""Other people's clients against one server; whoever reaches out to any other machine fails its test."""

import os
import sys
from collections.abc import Iterator

import pytest
import support
from scene import TOOL_FLAGS

# read when the packages are imported: what they would fetch from elsewhere, or send there
os.environ |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LANGSMITH_TRACING": "false", "DO_NOT_TRACK": "1"}

LOOPBACK = frozenset(("127.0.0.1", "localhost", "::1"))
_outward: list[str] = []


@pytest.fixture(scope="session")
def assistant() -> Iterator[str]:
    """URL of a server that calls tools when it is told to; without /v1."""
    with support.serve("--ttft-ms", "30", "--itl-ms", "5", *TOOL_FLAGS) as running:
        yield running.url


@pytest.fixture(scope="session")
def _watched() -> None:
    """An audit hook sees every connection of this process, C extensions apart; it can never be removed."""
    sys.addaudithook(_note)


@pytest.fixture
def loopback_only(_watched: None) -> Iterator[None]:
    _outward.clear()
    yield
    assert not _outward, f"reached out to {_outward}"


def _note(event: str, args: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = args[0].decode() if isinstance(args[0], bytes) else args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):
        host = args[1][0]
    else:
        return
    if host not in LOOPBACK:
        _outward.append(str(host))
