import contextlib
import os
from collections.abc import Callable, Iterator

import pytest
import support


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--no-skips", action="store_true", help="a skipped test fails the run (CI: every program is there)"
    )


def pytest_configure() -> None:
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"  # a machine's proxy is for elsewhere


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if session.config.getoption("--no-skips") and reporter is not None and reporter.stats.get("skipped"):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


@pytest.fixture
def serve() -> Iterator[Callable[..., support.Service]]:
    """Start `mockvllm serve` with the given flags, as often as the test likes; all end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(support.serve(*flags, **options))
