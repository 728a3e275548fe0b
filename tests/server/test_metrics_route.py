"""`/metrics` by every method and under every suffix, as recorded from 0.33."""

import httpx
import pytest
import support
from server.harness import in_process

MOUNTED = "text/plain; version=0.0.4; charset=utf-8"


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/metrics/"),
        ("GET", "/metrics/a/b"),
        ("GET", "/metricsx"),
        ("POST", "/metrics"),
        ("DELETE", "/metrics"),
        ("POST", "/metrics/x"),
    ],
)
async def test_whatever_the_method_and_the_suffix_the_data_is_the_same(method: str, path: str) -> None:
    async with in_process("--api-key", "k1") as server:
        plain = await server.client.get("/metrics")
        response = await server.client.request(method, path)
        assert response.status_code == 200
        assert response.headers["content-type"] == MOUNTED
        assert "content-length" not in response.headers
        assert names(response.text) == names(plain.text)
        assert "vllm:num_requests_waiting" in names(response.text)


def names(text: str) -> list[str]:
    return [line.split("{")[0].split()[0] for line in text.splitlines() if not line.startswith("#")]


def test_over_a_socket_the_mounted_ones_are_chunked_and_the_plain_one_has_a_length() -> None:
    with support.serve() as server:
        plain = httpx.get(f"{server.url}/metrics")
        assert plain.headers["content-type"] == "text/plain; version=1.0.0; charset=utf-8"
        assert int(plain.headers["content-length"]) == len(plain.content)
        for method, path in [("POST", "/metrics"), ("HEAD", "/metrics"), ("GET", "/metrics/")]:
            response = httpx.request(method, server.url + path, headers={"accept-encoding": "identity"})
            assert response.status_code == 200
            assert response.headers["content-type"] == MOUNTED
            assert "content-length" not in response.headers
            assert response.headers.get("transfer-encoding") == (None if method == "HEAD" else "chunked")
            assert bool(response.content) is (method != "HEAD")
        assert "{suffix:path}" not in server.output()
