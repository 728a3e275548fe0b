import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

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
    if _forbidden_skips(session.config):
        session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    if count := _forbidden_skips(config):
        terminalreporter.write_line(f"--no-skips: {count} skipped, so this run failed", red=True)


def _forbidden_skips(config: pytest.Config) -> int:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return len(reporter.stats.get("skipped", ())) if reporter and config.getoption("--no-skips") else 0


@pytest.fixture
def serve() -> Iterator[Callable[..., support.Service]]:
    """Start `mockvllm serve` with the given flags, as often as the test likes; all end with the test."""
    with contextlib.ExitStack() as stack:
        yield lambda *flags, **options: stack.enter_context(support.serve(*flags, **options))
