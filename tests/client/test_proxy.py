"""The proxy between real sockets: all goes through, what is held is held, and who leaves takes the other along."""

import asyncio
import http.client
import json
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest
from chat_streams import paced
from mockvllm_client.check import judge
from mockvllm_client.proxy import Proxy, end_to_end
from mockvllm_client.serving import Background
from mockvllm_client.transcript import Transcript
from mockvllm_client.wireshape import buffer
from patience import patient
from raw_server import Answer, Peer, RawServer, Request
from test_stream import ask, cut, no_answer, reset, saying

HTTP = httpx.Client(verify=False, trust_env=False, timeout=30)  # a client is slow to make


@contextmanager
def behind(answer: Answer, shape: str = "off", prefix: str = "") -> Iterator[tuple[RawServer, str]]:
    with RawServer(answer) as upstream, Background(Proxy(upstream.url + prefix, buffer(shape))) as url:
        yield upstream, url


def heard(answer: Answer, shape: str) -> Transcript:
    with behind(answer, shape) as (_, url):
        return asyncio.run(ask(url))


async def echo(request: Request, peer: Peer) -> None:
    """Says what it got."""
    await peer.json(json.dumps({"head": request.head.decode("latin-1"), "body": request.body.decode()}).encode())


@pytest.fixture(scope="module")
def echoing() -> Iterator[tuple[RawServer, str]]:
    with behind(echo) as both:
        yield both


def exchange(
    url: str, method: str, target: str, body: bytes | None = None, headers: dict[str, str] | None = None
) -> tuple[int, bytes]:
    """A request whose target nobody tidies up."""
    connection = http.client.HTTPConnection(httpx.URL(url).host, httpx.URL(url).port, timeout=5)
    connection.request(method, target, body, headers or {})
    response = connection.getresponse()
    found = response.status, response.read()
    connection.close()
    return found


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PURGE"])
@pytest.mark.parametrize("target", ["/", "/v1/models?limit=1&limit=2", "/a%2Fb//c/../d?q=%C3%B1+%20'\"[]|{}&x", "/x?"])
def test_method_and_target_go_through_byte_for_byte(echoing: tuple[RawServer, str], method: str, target: str) -> None:
    upstream, url = echoing
    status, _ = exchange(url, method, target)
    expected = target.removesuffix("?")
    assert status == 200
    assert upstream.requests[-1].head.split(b"\r\n")[0] == f"{method} {expected} HTTP/1.1".encode()


def test_an_upstream_may_have_a_prefix() -> None:
    with behind(echo, prefix="/llm/") as (upstream, url):
        HTTP.get(f"{url}/v1/models?a=1")
    assert upstream.requests[0].target == b"/llm/v1/models?a=1"


def test_headers_go_up_but_for_those_of_one_hop() -> None:
    own = {
        "X-Twice": "a",
        "Authorization": "Bearer k",
        "X-Hop": "mine",
        "Connection": "x-hop",
        "TE": "trailers",
        "Accept-Encoding": "br",
    }
    with behind(echo) as (upstream, url):
        exchange(url, "GET", "/", headers=own)
    request = upstream.requests[0]
    assert {name for name, _ in request.headers} == {b"host", b"x-twice", b"authorization", b"accept-encoding"}
    assert request.header(b"host") == [upstream.url.removeprefix("http://").encode()]


def test_headers_and_status_come_down_but_for_those_of_one_hop() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        lines = (
            b"Server: theirs",
            b"Set-Cookie: a=1",
            b"Set-Cookie: b=2",
            b"X-Odd: \xe9",
            b"Keep-Alive: timeout=5",
            b"Content-Length: 2",
        )
        await peer.head(*lines, status=b"418 I'm a teapot")
        await peer.write(b"no")

    with behind(answer) as (_, url):
        response = HTTP.get(url)
    assert (response.status_code, response.content) == (418, b"no")
    assert response.headers.raw == [
        (b"server", b"theirs"), (b"set-cookie", b"a=1"), (b"set-cookie", b"b=2"), (b"x-odd", b"\xe9"),
        (b"content-length", b"2"),
    ]  # fmt: skip


@pytest.mark.parametrize("shape", ["off", "full", "bytes:7", "time:50", "events:2"])
def test_errors_are_unchanged(shape: str) -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.json(b'{"error":{"message":"no"}}', request.target[1:] + b" Because")

    with behind(answer, shape) as (_, url):
        answers = {status: HTTP.post(f"{url}/{status}", json={}) for status in (400, 404, 503)}
    for status, response in answers.items():
        assert (response.status_code, response.headers["content-type"]) == (status, "application/json")
        assert response.content == b'{"error":{"message":"no"}}'


def test_a_location_on_the_upstream_becomes_one_on_the_proxy() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        host = request.header(b"host")[0]
        target = b"http://other.example/x" if request.target == b"/away" else b"http://" + host + b"/v1/models"
        await peer.head(b"location: " + target, b"content-length: 0", status=b"307 Temporary Redirect")
        peer.complete = True

    with behind(answer) as (_, url):
        assert HTTP.get(f"{url}/v1/models/").headers["location"] == f"{url}/v1/models"
        assert HTTP.get(f"{url}/away").headers["location"] == "http://other.example/x"


@pytest.mark.parametrize("size", [0, 1, 5_000_000])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_goes_up_whole(echoing: tuple[RawServer, str], size: int, chunked: bool) -> None:
    upstream, url = echoing
    body = b"x" * size
    HTTP.post(url, content=iter([body]) if chunked else body, timeout=30)
    assert upstream.requests[-1].body == body
    assert bool(upstream.requests[-1].header(b"transfer-encoding")) is chunked


def test_a_body_goes_up_as_it_comes() -> None:
    def slow(upstream: RawServer) -> Iterator[bytes]:
        yield b"first"
        upstream.wait_for_request()  # its head is there while the rest is not written yet
        yield b"rest"

    with behind(echo) as (upstream, url):
        HTTP.post(url, content=slow(upstream))
    assert upstream.requests[0].body == b"firstrest"


def test_bodies_without_any_byte() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.head(
            b"content-length: 5", status=b"200 OK" if request.head.startswith(b"HEAD") else b"304 Not Modified"
        )
        peer.complete = True

    with behind(answer, "full") as (_, url):
        assert (HTTP.head(url).status_code, HTTP.head(url).headers["content-length"]) == (200, "5")
        assert HTTP.get(url).status_code == 304


@pytest.mark.parametrize(
    ("shape", "verdict"),
    [("off", "STREAMING"), ("full", "BUFFERED(full)"), ("bytes:900", "BUFFERED(bytes)"), ("time:90", "BUFFERED(time)"),
     ("events:4", "BUFFERED(events)")],
)  # fmt: skip
@patient
def test_a_stream_arrives_as_the_buffer_says_and_loses_nothing(shape: str, verdict: str) -> None:
    pieces = paced(25, ttft=0.05, itl=0.02)
    noted = heard(saying(pieces), shape)
    assert str(judge(noted)) == verdict
    assert len(noted.answer.first.text.split()) == 25
    record = noted.record()
    assert record is not None
    assert pieces[-1][0] <= record.latency < pieces[-1][0] + 0.5


@patient
def test_off_passes_the_head_on_before_there_is_a_body_and_full_does_not() -> None:
    pieces = paced(2, ttft=0.3, itl=0.0)
    off, full = (heard(saying(pieces), shape).headers_at for shape in ("off", "full"))
    assert off is not None and full is not None
    assert off < 0.15 < 0.3 <= full


@patient
def test_a_time_buffer_lets_go_although_nothing_more_comes() -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.sse([(0.0, b"data: a\n\n"), (1.0, b"data: b\n\n")])

    noted = heard(answer, "time:100")
    assert [round(arrival.at, 1) for arrival in noted.arrivals] == [0.1, 1.0]


@pytest.mark.parametrize("shape", ["off", "full", "bytes:100000"])
@patient
def test_a_client_that_leaves_closes_the_upstream_at_once(shape: str) -> None:
    with behind(saying(paced(500, ttft=0.0, itl=0.02)), shape) as (upstream, url):
        host, port = httpx.URL(url).host, httpx.URL(url).port
        with socket.create_connection((host, port or 0)) as client:
            client.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            upstream.wait_for_request()
        assert upstream.requests[0].gone.wait(0.5)


def test_a_client_that_leaves_during_its_own_upload_closes_the_upstream() -> None:
    with behind(echo) as (upstream, url):
        connection = http.client.HTTPConnection(httpx.URL(url).host, httpx.URL(url).port)
        connection.putrequest("POST", "/")
        connection.putheader("content-length", "100")
        connection.endheaders(b"half")
        upstream.wait_for_request()
        connection.close()
        assert upstream.hung_up.wait(2)
    assert upstream.requests[0].body == b""  # never whole, so never answered


def test_an_upstream_that_is_not_there_is_a_502_that_says_so() -> None:
    with RawServer(echo) as upstream:
        url = upstream.url
    with Background(Proxy(url, buffer("off"))) as proxy:
        response = HTTP.get(proxy)
    assert response.status_code == 502
    error = response.json()["error"]
    assert (error["code"], error["type"]) == (502, "BadGatewayError")
    assert url in error["message"] and "connection attempts failed" in error["message"]


@pytest.mark.parametrize(("answer", "shape"), [(no_answer, "off"), (cut, "full"), (reset, "full")])
def test_an_upstream_that_fails_before_the_head_has_left_is_a_502(answer: Answer, shape: str) -> None:
    assert str(judge(heard(answer, shape))) == "HTTP_ERROR(502)"


@pytest.mark.parametrize("answer", [cut, reset])
@pytest.mark.parametrize("shape", ["off", "bytes:200", "events:3"])
def test_an_upstream_that_fails_later_cuts_the_client_after_all_that_came(answer: Answer, shape: str) -> None:
    noted = heard(answer, shape)
    assert str(judge(noted)) == "TRUNCATED(eof)"
    assert len(noted.token_times) == 4


def test_many_streams_at_once() -> None:
    async def many(url: str) -> list[Transcript]:
        return await asyncio.gather(*(ask(url) for _ in range(40)))

    with behind(saying(paced(5, ttft=0.2, itl=0.02))) as (_, url):
        assert [len(noted.token_times) for noted in asyncio.run(many(url))] == [5] * 40


@pytest.mark.parametrize(
    ("headers", "kept"),
    [
        ([(b"connection", b"close"), (b"a", b"1")], [(b"a", b"1")]),
        ([(b"connection", b"A, B"), (b"a", b"1"), (b"b", b"2"), (b"c", b"3")], [(b"c", b"3")]),
        (
            [(b"transfer-encoding", b"chunked"), (b"upgrade", b"h2c"), (b"a", b"1"), (b"a", b"2")],
            [(b"a", b"1"), (b"a", b"2")],
        ),
    ],
)
def test_headers_of_one_hop(headers: list[tuple[bytes, bytes]], kept: list[tuple[bytes, bytes]]) -> None:
    assert end_to_end(headers) == kept
