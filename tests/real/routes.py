"""The ways from a client to the server that the tests of this folder try."""

import contextlib
from collections.abc import Callable, Iterator

import nginx
import pytest
import support

# nginx passes each HTTP chunk of a stream on, buffering or not, until a filter such as gzip is free to wait for more.
COMPRESSED = ("gzip on", "gzip_types text/event-stream", "gzip_proxied any")


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
    pytest.param(through_nginx("proxy_buffering off", *COMPRESSED), id="nginx-off", marks=nginx.needed),
    pytest.param(through_nginx("proxy_buffering on"), id="nginx-on-uncompressed", marks=nginx.needed),
]
BUFFERING = [
    pytest.param(through_proxy("--buffer", "full"), id="proxy-full"),
    pytest.param(through_nginx("proxy_buffering on", *COMPRESSED), id="nginx-on", marks=nginx.needed),
]
