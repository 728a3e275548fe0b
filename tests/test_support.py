import sys

import httpx
import pytest
import support


def http_server(port: int) -> list[str]:
    return [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]


def test_a_service_answers_inside_the_block_and_is_gone_behind_it() -> None:
    port = support.free_port()
    with support.service(http_server(port), port) as running:
        assert httpx.get(running.url).status_code == 200
        assert running.port == port
        assert "GET /health" in running.output()
    assert running.process.returncode is not None
    with pytest.raises(httpx.ConnectError):
        httpx.get(running.url)


def test_a_command_that_ends_before_it_serves_shows_what_it_printed() -> None:
    argv = [sys.executable, "-c", "print('no seat left'); raise SystemExit(3)"]
    with pytest.raises(RuntimeError, match=r"(?s)ended with 3 .*no seat left"), support.service(argv, 1):
        pass


def test_a_command_that_ignores_sigterm_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(support, "STOP_SECONDS", 0.2)
    port = support.free_port()
    stubborn = f"""
import signal, http.server
signal.signal(signal.SIGTERM, signal.SIG_IGN)
http.server.HTTPServer(("127.0.0.1", {port}), http.server.BaseHTTPRequestHandler).serve_forever()
"""
    with support.service([sys.executable, "-c", stubborn], port) as running:
        pass
    assert running.process.returncode == -9
