"""Who may use the control API, and what it lists."""

import asyncio

import httpx
import pytest
import support
from server.harness import CHAT, chat, in_process, settle

from mockvllm.server.protocol import EXTENSION, Connection
from mockvllm.server.routes.control import is_local, is_loopback


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (None, True),
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("::ffff:127.0.0.1", True),
        ("::ffff:10.0.0.9", False),
        ("10.0.0.9", False),
        ("fe80::1", False),
        ("localhost", False),
        ("", False),
    ],
)
def test_what_is_loopback(peer: str | None, expected: bool) -> None:
    assert is_loopback(peer) is expected


class FromAfar:
    """Of a protocol, all that the guard looks at."""

    def __init__(self, client: tuple[str, int] | None) -> None:
        self.client = client


@pytest.mark.parametrize(
    ("peer", "forwarded", "expected"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        (None, "127.0.0.1", True),
        ("10.0.0.9", "127.0.0.1", False),
        ("127.0.0.1", "10.0.0.9", False),
        (None, "10.0.0.9", False),
        ("::ffff:127.0.0.1", "::1", True),
    ],
)
def test_a_forwarded_address_opens_nothing(peer: str | None, forwarded: str, expected: bool) -> None:
    protocol = FromAfar((peer, 1) if peer else None)
    scope = {"headers": [], "client": (forwarded, 0), "extensions": {EXTENSION: Connection(protocol)}}  # type: ignore[arg-type]
    assert is_local(scope) is expected


def test_a_local_proxy_that_forwards_somebody_is_not_local() -> None:
    with support.serve(env={"FORWARDED_ALLOW_IPS": "*"}) as server:
        for forwarded, status in [("10.0.0.9", 403), ("127.0.0.1", 200), ("127.0.0.1, 10.0.0.9", 403)]:
            response = httpx.get(f"{server.url}/mock/requests", headers={"X-Forwarded-For": forwarded})
            assert response.status_code == status, forwarded


@pytest.mark.parametrize(
    ("value", "status"),
    [
        ("Bearer s3cret", 200),
        ("bEaReR s3cret", 200),
        ("s3cret", 403),
        ("Basic s3cret", 403),
        ("Bearer s3cret x", 403),
        ("Bearer s3cre", 403),
        ("Bearer ", 403),
        ("Bearer", 403),
    ],
)
async def test_the_key_comes_as_a_bearer_token(value: str, status: int) -> None:
    async with in_process("--control-key", "s3cret", client=("10.0.0.9", 1)) as server:
        response = await server.client.get("/mock/requests", headers={"Authorization": value})
        assert response.status_code == status


async def test_an_empty_key_opens_nothing() -> None:
    async with in_process("--control-key", "", client=("10.0.0.9", 1)) as server:
        response = await server.client.get("/mock/requests", headers={"Authorization": "Bearer "})
        assert response.status_code == 403


@pytest.mark.parametrize(
    ("flags", "expected"),
    [((), None), (("--clock", "real"), 1.0), (("--clock", "real", "--time-scale", "2.5"), 2.5)],
)
async def test_an_entry_says_how_fast_the_clock_is(flags: tuple[str, ...], expected: float | None) -> None:
    async with in_process(*flags) as server:
        await server.client.post(CHAT, json=chat(model="nope"), headers={"X-Request-Id": "r"})
        assert (await server.journal("r"))["time_scale"] == expected


async def test_a_list_has_the_newest_of_a_state_and_no_more_than_its_limit() -> None:
    async with in_process("--max-num-seqs", "1") as server:
        running = [asyncio.ensure_future(server.client.post(CHAT, json=chat(max_tokens=2))) for _ in range(2)]
        await settle()
        for number in range(120):
            await server.client.post(CHAT, json=chat(model="nope"), headers={"X-Request-Id": str(number)})

        async def listed(**params: object) -> list[str | None]:
            response = await server.client.get("/mock/requests", params=params)
            return [row["request_id"] or row["state"] for row in response.json()["requests"]]

        assert await listed() == [str(number) for number in range(20, 120)]
        assert await listed(limit=2) == ["118", "119"]
        assert await listed(limit=0) == []
        assert len(await listed(limit=1000)) == 122
        assert await listed(state="rejected", limit=1) == ["119"]
        assert await listed(state="running") == ["running"]
        assert await listed(state="queued", limit=2) == ["queued"]
        assert await listed(state="finished") == []
        assert (await server.client.get("/mock/requests?limit=-1")).status_code == 400
        assert "limit" in (await server.client.get("/mock/requests?limit=many")).text
        await server.advance(60)
        await asyncio.gather(*running)
        assert await listed(state="finished") == ["finished"] * 2
