"""`mockvllm chat` and `mockvllm proxy` as commands: what they print, what they send, how they end."""

import json
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
import support
from chat_streams import DONE, Timed, chunk, event, paced, usage
from patience import patient
from raw_server import Answer, Peer, RawServer, Request
from test_report import entry
from test_stream import cut, reset

from mockvllm.cli import chat, proxy

CHAT = b"/v1/chat/completions"


def server(pieces: list[Timed] | Answer, journal: dict[str, Any] | None = None) -> RawServer:
    """Lists two models, says `pieces`, and has a journal if told."""

    async def answer(request: Request, peer: Peer) -> None:
        if request.target == b"/v1/models":
            await peer.json(b'{"data":[{"id":"first"},{"id":"second"}]}')
        elif request.target != CHAT:
            found = request.target.startswith(b"/mock/requests/") and journal is not None
            await peer.json(json.dumps(journal).encode(), b"200 OK" if found else b"404 Not Found")
        elif callable(pieces):
            await pieces(request, peer)
        else:
            await peer.sse(pieces)

    return RawServer(answer)


def asked(running: RawServer) -> dict[str, Any]:
    """The body of the question."""
    found: dict[str, Any] = json.loads(next(request.body for request in running.requests if request.target == CHAT))
    return found


def ask(running: RawServer, *flags: str) -> int:
    return chat.main(["hola", "--url", running.url, *flags])


@patient
def test_the_answer_comes_first_then_the_figures_and_that_there_is_no_journal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with server(paced(4, ttft=0.1, itl=0.03)) as running:
        assert ask(running) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == " x0 xxx1 xxxxx2 xx3"
    names = ["finish", "tokens", "TTFT", "TPOT", "ITL", "E2E", "tokens/s", "TTFB", "events", "verdict"]
    assert [line.split()[0] for line in lines[1:11]] == names
    assert lines[10] == "verdict       STREAMING: 1.00 tokens at a time"
    assert lines[11] == "no journal: the server answers 404 on /mock/requests"


def test_what_is_asked() -> None:
    with server(paced(2, ttft=0.0)) as running:
        flags = "--max-tokens 7 --stop a --stop b --api-key k1 --header X-Mock=a=b --header accept-encoding=br"
        ask(running, *flags.split())
        request = next(request for request in running.requests if request.target == CHAT)
        assert request.header(b"authorization") == [b"Bearer k1"]
        assert request.header(b"x-mock") == [b"a=b"]
        assert request.header(b"accept-encoding") == [b"br"]
        assert asked(running) == {
            "model": "first",
            "messages": [{"role": "user", "content": "hola"}],
            "max_tokens": 7,
            "stop": ["a", "b"],
            "stream": True,
            "stream_options": {"include_usage": True},
        }


def test_a_named_model_is_not_looked_up() -> None:
    with server(paced(2, ttft=0.0)) as running:
        ask(running, "--model", "mine")
        assert asked(running)["model"] == "mine"
        assert running.requests[0].target == CHAT


@pytest.mark.parametrize("words", [1, 2, 40, 2000])
def test_a_prompt_of_n_words_ends_in_the_text(words: int) -> None:
    with server(paced(2, ttft=0.0, prompt=words)) as running:
        ask(running, "--prompt-tokens", str(words))
        content = asked(running)["messages"][0]["content"]
    assert (len(content.split()), content.split()[-1]) == (words, "hola")


def test_a_server_that_counts_otherwise_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with server(paced(2, ttft=0.0, prompt=2013)) as running:
        assert ask(running, "--prompt-tokens", "2000") == 0
    assert "note: 2000 words are 2013 prompt tokens here (+13): its tokens are not words" in capsys.readouterr().out


@pytest.mark.parametrize("path", ["/", "/v1", "/v1/"])
def test_a_base_url_may_end_as_it_likes(path: str) -> None:
    with server(paced(2, ttft=0.0)) as running:
        assert chat.main(["hola", "--url", running.url + path]) == 0


JSON_KEYS = {
    "text",
    "finish_reason",
    "usage",
    "ttft_s",
    "tpot_ms",
    "itl_p50_ms",
    "e2e_s",
    "tokens_per_s",
    "events",
    "reads",
    "verdict",
}


@patient
def test_json_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    with server(paced(6, ttft=0.1, itl=0.02)) as running:
        assert ask(running, "--json") == 0
    data = json.loads(capsys.readouterr().out)
    assert data.keys() >= JSON_KEYS
    assert (data["verdict"], data["events"], data["finish_reason"]) == ("STREAMING", 9, "length")
    assert data["no_journal"] == "the server answers 404 on /mock/requests"


def test_raw_is_the_bytes_and_the_figures_go_elsewhere(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    pieces = paced(3, ttft=0.0, itl=0.0)
    with server(pieces) as running:
        run = subprocess.run(
            support.mockvllm("chat", "hola", "--url", running.url, "--raw"), capture_output=True, timeout=60
        )
    assert run.stdout == b"".join(data for _, data in pieces)
    assert b"verdict" in run.stderr


def test_the_journal_gives_the_server_s_side(capsys: pytest.CaptureFixture[str]) -> None:
    with server(paced(3, ttft=0.0, itl=0.02), dict(entry().raw)) as running:
        ask(running)
        assert running.requests[-1].target == b"/mock/requests/chatcmpl-1"
    out = capsys.readouterr().out
    assert "scheduler: gets its seat" in out
    assert "no journal" not in out
    assert "note: the server's clock differs by at least" in out  # the entry is of another day


@pytest.mark.parametrize(
    ("scale", "why"),
    [(20.0, "it runs 20 times as fast"), (0.5, "it runs 0.5 times as fast"), (None, "it is moved by hand")],
)
def test_a_server_that_is_not_in_real_time_has_no_chain(
    scale: float | None, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(paced(3, ttft=0.0, itl=0.02), entry(time_scale=scale).raw | {}) as running:
        ask(running)
    out = capsys.readouterr().out
    assert f"note: the server's clock is not real time ({why}): no chain of both sides" in out
    assert "the chain, on one clock" not in out
    assert out.count("note: ") == 1


def test_a_real_server_says_how_fast_its_clock_is(capsys: pytest.CaptureFixture[str]) -> None:
    with support.serve("--time-scale", "4") as running:
        assert chat.main(["hola", "--url", running.url, "--max-tokens", "2", "--json"]) == 0
        data = json.loads(capsys.readouterr().out)
        assert (data["journal"]["time_scale"], data["chain"], data["delay_max_ms"]) == (4.0, [], None)


def test_a_real_server_that_refuses_shows_no_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    with support.serve() as running:
        assert chat.main(["hola", "--url", running.url, "--model", "nope", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert [link["what"] for link in data["chain"] if link["side"] == "server"] == ["refuses the request: 404"]


def test_an_entry_that_is_about_to_end_is_asked_for_again() -> None:
    seen = []

    async def answer(request: Request, peer: Peer) -> None:
        if request.target == CHAT:
            await peer.sse(paced(3, ttft=0.0, itl=0.0))
        else:
            seen.append(request.target)
            await peer.json(json.dumps(entry(state="running" if len(seen) < 3 else "finished").raw).encode())

    with RawServer(answer) as running:
        assert ask(running, "--model", "m", "--control-key", "secret") == 0
        assert len(seen) == 3
        assert running.requests[-1].header(b"authorization") == [b"Bearer secret"]


@pytest.mark.parametrize("body", ['{"a":1}', "[]", "no json", '{"accepted_at":null}'])
def test_something_else_on_that_path_is_no_journal(body: str, capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(request: Request, peer: Peer) -> None:
        if request.target == CHAT:
            await peer.sse(paced(3, ttft=0.0, itl=0.0))
        else:
            await peer.json(body.encode())

    with RawServer(answer) as running:
        assert ask(running, "--model", "m") == 0
    assert "no journal: what the server has on /mock/requests is no journal" in capsys.readouterr().out


def test_one_body_if_told(capsys: pytest.CaptureFixture[str]) -> None:
    async def answer(request: Request, peer: Peer) -> None:
        message = {"role": "assistant", "content": "Tu pedido"}
        body = {"id": "chatcmpl-1", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        await peer.json(json.dumps(body | {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}).encode())

    with server(answer) as running:
        assert ask(running, "--no-stream") == 0
        assert "stream" not in asked(running)
    out = capsys.readouterr().out
    assert out.startswith("Tu pedido\n")
    assert "verdict       COMPLETE: one body, not a stream" in out
    assert "TTFT" not in out


ERROR = event({"error": {"message": "boom", "code": 500}})


async def refuse(request: Request, peer: Peer) -> None:
    await peer.json(b'{"error":{"message":"because","code":400}}', b"400 Bad Request")


@pytest.mark.parametrize(
    ("behaviour", "verdict"),
    [
        (cut, "TRUNCATED(eof): "),
        (reset, "TRUNCATED(reset): "),
        ([(0.0, ERROR), (0.0, DONE)], "INBAND_ERROR(500): boom"),
        ([(0.0, b'{"error":1}')], "MALFORMED(stray): "),
        ([(0.0, usage(1, 0)), (0.0, DONE)], "EMPTY: no content"),
        (refuse, "HTTP_ERROR(400): because"),
        ([(1.0, data) for _, data in paced()], "BUFFERED(full): "),
    ],
)
def test_a_bad_stream_exits_1_and_says_how(behaviour: Any, verdict: str, capsys: pytest.CaptureFixture[str]) -> None:
    with server(behaviour) as running:
        assert ask(running) == 1
    assert f"verdict       {verdict}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "say something: a text, or --prompt-tokens N"),
        (["hola", "--url", "localhost:8000"], "argument --url: 'localhost:8000' is no URL"),
        (["hola", "--url", "http://host/?a=1"], "argument --url: 'http://host/?a=1' is no URL"),
        (["hola", "--url", "ftp://host"], "argument --url: 'ftp://host' is no URL"),
        (["hola", "--max-tokens", "0"], "argument --max-tokens: '0' is no whole number above 0"),
        (["uno dos tres", "--prompt-tokens", "2"], "argument --prompt-tokens: 2 is less than the 3 words of the text"),
        (["hola", "--through", "bytes:x"], "argument --through: 'bytes:x' is none of off, full, bytes:N"),
        (["hola", "--timeout", "-1"], "argument --timeout: '-1' is no number of seconds above 0"),
        (["hola", "--header", "x: y"], "argument --header: 'x: y' is no KEY=VALUE"),
        (["hola", "--raw", "--json"], "argument --json: not allowed with argument --raw"),
        (["hola", "--jsno"], "unrecognized arguments: --jsno"),
    ],
)
def test_wrong_usage_is_one_line_and_exits_2(
    flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        chat.main(flags)
    err = capsys.readouterr().err
    assert ended.value.code == 2
    assert err.startswith(f"mockvllm chat: error: {complaint}") and err.count("\n") == 1


@pytest.mark.parametrize("flags", [[], ["--model", "m"]])
def test_nobody_there_is_one_line_and_exits_2(flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    url = f"http://127.0.0.1:{support.free_port()}"
    assert chat.main(["hola", "--url", url, *flags]) == 2
    err = capsys.readouterr().err
    assert err.startswith(f"mockvllm chat: cannot connect to {url}: ") and err.count("\n") == 1


@pytest.mark.parametrize(
    ("status", "body", "complaint"),
    [(b"401 Unauthorized", b'{"error":"Unauthorized"}', "/v1/models answers 401"),
     (b"200 OK", b'{"data":[]}', "lists no model"), (b"200 OK", b"<html>", "lists no model")],
)  # fmt: skip
def test_a_server_that_lists_no_model(
    status: bytes, body: bytes, complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    async def answer(request: Request, peer: Peer) -> None:
        await peer.json(body, status)

    with RawServer(answer) as running:
        assert ask(running) == 2
    assert complaint in capsys.readouterr().err


def test_who_reads_us_may_have_enough() -> None:
    with server([(0.002 * i, chunk({"content": "x" * 500})) for i in range(500)]) as running:
        argv = support.mockvllm("chat", "hola", "--url", running.url, "--raw")
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.read(100)
            process.stdout.close()
            assert process.wait(20) == 0
            assert b"Traceback" not in process.stderr.read()


LESSON = [pytest.param(30, 0.5, 0.04, id="lesson"), pytest.param(14, 0.3, 0.06, id="other")]


def figures(running: RawServer, capsys: pytest.CaptureFixture[str], *flags: str) -> dict[str, Any]:
    assert ask(running, "--json", *flags) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(("tokens", "ttft", "itl"), LESSON)
@patient
def test_the_table_of_the_lesson(tokens: int, ttft: float, itl: float, capsys: pytest.CaptureFixture[str]) -> None:
    end = ttft + (tokens - 1) * itl
    with server(paced(tokens, ttft, itl)) as running:
        direct, held = figures(running, capsys), figures(running, capsys, "--through", "full")
    assert ttft <= direct["ttft_s"] < ttft + 0.02
    assert direct["tpot_ms"] == pytest.approx(itl * 1000, abs=0.3)
    assert direct["itl_p50_ms"] == pytest.approx(itl * 1000, abs=1)
    assert end <= direct["e2e_s"] < end + 0.03
    assert end <= held["ttft_s"] == held["e2e_s"] < end + 0.03
    assert (held["tpot_ms"], held["itl_p50_ms"]) == (0, 0)
    assert (direct["verdict"], held["verdict"]) == ("STREAMING", "BUFFERED(full)")


@pytest.mark.parametrize(
    ("through", "verdict"),
    [("off", "STREAMING"), ("bytes:800", "BUFFERED(bytes)"), ("time:150", "BUFFERED(time)"),
     ("events:5", "BUFFERED(events)")],
)  # fmt: skip
@patient
def test_a_proxy_in_between_holds_what_it_was_told(
    through: str, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with server(paced(25, ttft=0.1, itl=0.03)) as running:
        assert figures(running, capsys, "--through", through)["verdict"] == verdict


@pytest.fixture
def upstream() -> Iterator[RawServer]:
    with server(paced(40, ttft=0.1, itl=0.03)) as running:
        yield running


def test_the_proxy_command_serves_until_it_is_told_to_stop(
    upstream: RawServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with support.proxy(upstream.url, "--buffer", "events:5") as running:
        assert httpx.get(f"{running.url}/v1/models", trust_env=False).json()["data"][0]["id"] == "first"
        assert chat.main(["hola", "--url", running.url]) == 1
        assert f"proxy on {running.url} -> {upstream.url} (buffer: events:5)" in running.output()
        running.process.terminate()
        assert running.process.wait(5) in (0, -15)
        assert "Traceback" not in running.output()
    assert "verdict       BUFFERED(events)" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        ([], "the following arguments are required: --upstream"),
        (["--upstream", "host:1"], "argument --upstream: 'host:1' is no URL"),
        (["--upstream", "http://h", "--port", "70000"], "argument --port: '70000' is no port"),
        (["--upstream", "http://h", "--buffer", "half"], "argument --buffer: 'half' is none of off, full"),
    ],
)
def test_wrong_usage_of_the_proxy(flags: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        proxy.main(flags)
    assert ended.value.code == 2
    assert capsys.readouterr().err.startswith(f"mockvllm proxy: error: {complaint}")


def test_a_port_that_is_taken_is_one_line_and_exits_2(upstream: RawServer, capsys: pytest.CaptureFixture[str]) -> None:
    assert proxy.main(["--upstream", upstream.url, "--port", str(upstream.port)]) == 2
    assert (
        capsys.readouterr().err
        == f"mockvllm proxy: cannot listen on 127.0.0.1 port {upstream.port}: Address already in use\n"
    )


def test_chat_loads_no_server(upstream: RawServer) -> None:
    """Its start is what a person waits for."""
    code = "import sys; from mockvllm.cli import chat; chat.main(['a', '--url', sys.argv[1]]); print([*sys.modules])"
    run = subprocess.run([sys.executable, "-c", code, upstream.url], capture_output=True, text=True, timeout=60)
    loaded = run.stdout.splitlines()[-1]
    assert "'httpx'" in loaded
    assert not [name for name in ("uvicorn", "fastapi", "typer", "numpy") if f"'{name}'" in loaded]


def test_an_interrupted_chat_ends_as_shells_expect_and_closes_the_stream() -> None:
    with server(paced(200, ttft=0.0, itl=0.05)) as running:
        argv = support.mockvllm("chat", "hola", "--model", "m", "--url", running.url)
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None and process.stderr is not None
            process.stdout.read(5)
            process.send_signal(signal.SIGINT)
            assert process.wait(10) == 130
            assert process.stderr.read() == b""
        assert running.requests[0].gone.wait(2)


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGTERM])
def test_a_proxy_that_is_stopped_leaves_quietly_although_a_stream_is_open(
    upstream: RawServer, by: signal.Signals
) -> None:
    with support.proxy(upstream.url, "--buffer", "full") as running:
        port = httpx.URL(running.url).port
        with socket.create_connection(("127.0.0.1", port or 0)) as client:
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\ncontent-length: 2\r\n\r\n{}")
            upstream.wait_for_request()
            running.process.send_signal(by)
            assert running.process.wait(10) in (0, -by)
        assert running.output().count("\n") == 1
