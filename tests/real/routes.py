"""The ways from a client to the server that the tests of this folder try."""

import contextlib
from collections.abc import Callable, Iterator

import nginx
import pytest
import support

# A buffer as large as an answer: nginx passes on what fills one (a page by default), the rest at the end.
ONE_LARGE_BUFFER = ("proxy_buffering on", "proxy_buffer_size 64k", "proxy_buffers 8 64k", "proxy_busy_buffers_size 64k")


@contextlib.contextmanager
def direct(upstream: str) -> Iterator[str]:
    yield upstream


def through_proxy(*flags: str) -> Callable[[str], contextlib.AbstractContextManager[str]]:
    @contextlib.contextmanager
    def route(upstream: str) -> Iterator[str]:
        with support.proxy(upstream, *flags) as running:
            yield running.url

    return route


def through_nginx(*directives: str) -> Callable[[str], contextlib.AbstractContextManager[str]]:
    @contextlib.contextmanager
    def route(upstream: str) -> Iterator[str]:
        with nginx.in_front_of(upstream, *directives) as running:
            yield running.url

    return route


STREAMING = [
    pytest.param(direct, id="direct"),
    pytest.param(through_proxy("--buffer", "off"), id="proxy-off"),
    pytest.param(through_nginx("proxy_buffering off"), id="nginx-off", marks=nginx.needed),
]
BUFFERING = [
    pytest.param(through_proxy("--buffer", "full"), id="proxy-full"),
    pytest.param(through_nginx(*ONE_LARGE_BUFFER), id="nginx-on", marks=nginx.needed),
]
