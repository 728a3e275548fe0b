"""Prefill on one server, decode on another, through a router: the round trip of `kv_transfer_params` (0.33)."""

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
import support
from server.harness import CHAT, InProcess, chat, content, events, in_process, settle

COMPLETIONS = "/v1/completions"
WORDS = " ".join(f"word{number}" for number in range(40))  # three blocks
PREFILL = {
    "do_remote_decode": True,
    "do_remote_prefill": False,
    "remote_engine_id": None,
    "remote_block_ids": None,
    "remote_host": None,
    "remote_port": None,
}


def config(role: str, engine_id: str, **keys: Any) -> tuple[str, ...]:
    keys = {"kv_connector": "NixlConnector", "kv_role": role, "engine_id": engine_id} | keys
    return "--kv-transfer-config", json.dumps(keys)


@asynccontextmanager
async def node(role: str, *flags: str, engine_id: str = "", port: int = 0, **keys: Any) -> AsyncIterator[InProcess]:
    environ = {
        "VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1",
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port or support.free_port()),
    }
    flags = (
        *config(role, engine_id or role, **keys),
        "--kv-fetch-ms-per-token",
        "1",
        "--enable-prompt-tokens-details",
        *flags,
    )
    async with in_process(*flags, environ=environ) as server:
        try:
            yield server
        finally:
            server.backend.close()


async def until(condition: Callable[[], bool]) -> None:
    """Datagrams take a real moment."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError("it never happened")


def num_held(server: InProcess) -> int:
    engine = server.backend.driver.core.engine
    return engine.kv_cache.pool.num_usable_blocks - engine.num_free_blocks


async def ask(server: InProcess, path: str, body: dict[str, Any], seconds: float = 0.3) -> httpx.Response:
    """The answer of a server whose clock then moves by `seconds`."""
    task = asyncio.ensure_future(server.client.post(path, json=body))
    await server.advance(seconds)
    return await task


async def prefilled(server: InProcess) -> dict[str, Any]:
    """Where the KV of WORDS is kept now."""
    answer = await ask(server, CHAT, chat(WORDS, max_tokens=1, kv_transfer_params=PREFILL))
    params: dict[str, Any] = answer.json()["kv_transfer_params"]
    return params


async def route(prefill: InProcess, decode: InProcess, path: str, body: dict[str, Any]) -> httpx.Response:
    """What routers of prefill and decode servers do: one token there, and all of them here with what came back."""
    asked = body | {"stream": False, "max_tokens": 1, "kv_transfer_params": PREFILL}
    first = await ask(prefill, path, {key: value for key, value in asked.items() if key != "stream_options"})
    first.raise_for_status()
    return await ask(decode, path, body | {"kv_transfer_params": first.json()["kv_transfer_params"]}, seconds=1.0)


@pytest.mark.parametrize(
    ("path", "asked", "prefix", "suffix"),
    [(CHAT, chat(WORDS), "chatcmpl", ""), (COMPLETIONS, {"prompt": WORDS}, "cmpl", "-0")],
)
async def test_the_answer_of_a_prefill_server(path: str, asked: dict[str, Any], prefix: str, suffix: str) -> None:
    async with node("kv_producer", "-tp", "2", "-pp", "2", port=5655) as server:
        body = asked | {"max_tokens": 1, "kv_transfer_params": PREFILL, "request_id": "r"}
        answer = (await ask(server, path, body)).json()
        params = answer["kv_transfer_params"]
        assert re.fullmatch(rf"{prefix}-r{suffix}-[0-9a-f]{{8}}", params.pop("remote_request_id"))
        assert params == {
            "do_remote_prefill": True,
            "do_remote_decode": False,
            "remote_block_ids": [[1, 2, 3]],
            "remote_engine_id": "kv_producer",
            "remote_host": "127.0.0.1",
            "remote_port": 5655,
            "tp_size": 2,
            "dcp_size": 1,
            "pp_size": 2,
            "remote_num_tokens": 40,
            "remote_blocks_expiry_time": None,
            "remote_registration_generation": 1,
            "transfer_mode": "pull",
            "remote_prefill_cached_tokens": 0,
        }
        assert num_held(server) == 3
        usage = [
            line for line in (await server.client.get("/metrics")).text.splitlines() if "kv_cache_usage_perc{" in line
        ]
        assert float(usage[0].split()[-1]) == pytest.approx(3 / 13_045)
        await server.advance(30)
        assert num_held(server) == 0


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("stream", [False, True])
async def test_the_round_trip_through_a_router(path: str, stream: bool) -> None:
    asked = chat(WORDS) if path == CHAT else {"prompt": WORDS}
    body = asked | {"max_tokens": 3, "stream": stream}
    if stream:
        body["stream_options"] = {"include_usage": True}
    async with node("kv_producer") as prefill, node("kv_consumer") as decode:
        response = await route(prefill, decode, path, body)
        assert response.status_code == 200
        answer = events(response.text)[-2] if stream else response.json()
        assert answer["usage"]["prompt_tokens"] == 40
        assert answer["usage"]["completion_tokens"] == 3
        assert answer["usage"]["prompt_tokens_details"]["cached_tokens"] == 0  # where it was computed
        if stream and path == CHAT:
            assert content(response.text) == "Tu pedido sale"
        await until(lambda: num_held(prefill) == 0)
        assert num_held(decode) == 0
        counted = (await decode.client.get("/metrics")).text
        assert counter(counted, "prompt_tokens_by_source_total", source="external_kv_transfer") == 40
        assert counter(counted, "prompt_tokens_by_source_total", source="local_compute") == 0
        assert counter(counted, "external_prefix_cache_hits_total") == 40
        assert counter(counted, "prefix_cache_hits_total") == 0


def counter(text: str, name: str, **labels: str) -> float:
    (line,) = [
        line
        for line in text.splitlines()
        if line.startswith(f"vllm:{name}{{") and all(f'{key}="{value}"' in line for key, value in labels.items())
    ]
    return float(line.split()[-1])


async def test_a_decode_request_is_deferred_while_its_kv_is_fetched() -> None:
    async with node("kv_producer") as prefill, node("kv_consumer") as decode:
        params = await prefilled(prefill)
        task = asyncio.ensure_future(
            decode.client.post(CHAT, json=chat(WORDS, max_tokens=2, kv_transfer_params=params))
        )
        stages = []
        for seconds in (0.0, 0.039, 0.001):
            await decode.advance(seconds)
            text = (await decode.client.get("/metrics")).text
            by_stage = [
                counter(text, "num_requests_kv_fetch_by_stage", stage=stage)
                for stage in ("in_progress", "completed_waiting")
            ]
            deferred = counter(text, "num_requests_waiting_by_reason", reason="deferred")
            stages.append((*by_stage, deferred, counter(text, "num_requests_running")))
        assert stages == [(1, 0, 1, 0), (1, 0, 1, 0), (0, 0, 0, 1)]
        await decode.advance(0.08)
        assert (await task).json()["usage"]["completion_tokens"] == 2


async def test_a_fetch_may_be_slow_and_it_is_part_of_the_time_to_the_first_token() -> None:
    async with node("kv_producer") as prefill, node("kv_consumer", "--kv-fetch-ms-per-token", "50") as decode:
        params = await prefilled(prefill)
        task = asyncio.ensure_future(
            decode.client.post(CHAT, json=chat(WORDS, max_tokens=1, kv_transfer_params=params))
        )
        await decode.advance(2.039)  # 40 tokens at 50 ms, and a token's 40 ms
        assert not task.done()
        await decode.advance(0.001)
        assert (await task).status_code == 200


@pytest.mark.parametrize(("release", "shown"), [("0.33", True), ("0.32", False), ("0.30", False)])
async def test_streams_say_it_in_the_finish_chunk_of_0_33_alone(release: str, shown: bool) -> None:
    async with node("kv_producer", "--profile", release) as server:
        for path, asked in ((CHAT, chat(WORDS)), (COMPLETIONS, {"prompt": WORDS})):
            body = asked | {"max_tokens": 2, "stream": True, "kv_transfer_params": PREFILL}
            chunks = [chunk for chunk in events((await ask(server, path, body, 1.0)).text) if chunk != "[DONE]"]
            said = [chunk["kv_transfer_params"] for chunk in chunks if chunk.get("kv_transfer_params")]
            assert len(said) == shown
            if shown:
                assert said[0] is chunks[-1]["kv_transfer_params"]
                assert said[0]["remote_num_tokens"] == 41  # the second token is not computed
            whole = (await ask(server, path, body | {"stream": False}, 1.0)).json()["kv_transfer_params"]
            assert ("remote_prefill_cached_tokens" in whole) == shown


async def test_a_rank_has_its_own_engine_id_and_port_and_ids_need_not_be_random() -> None:
    flags = (*config("kv_both", "e"), "--data-parallel-size", "4", "--data-parallel-rank", "2", "-dcp", "1")
    environ = {
        "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port := support.free_port()),
        "VLLM_DISABLE_REQUEST_ID_RANDOMIZATION": "1",
    }
    async with in_process(*flags, environ=environ) as server:
        body = chat(WORDS, max_tokens=1, kv_transfer_params=PREFILL, request_id="r")
        params = (await ask(server, CHAT, body)).json()["kv_transfer_params"]
        assert (params["remote_engine_id"], params["remote_port"]) == ("e_dp2", port + 2)
        assert (params["remote_host"], params["remote_request_id"]) == ("localhost", "chatcmpl-r")
        server.backend.close()


async def test_without_a_connector_the_parameters_are_ignored() -> None:
    async with in_process() as server:
        remote = PREFILL | {"do_remote_prefill": True, "remote_prefill_cached_tokens": 9}
        for params in (PREFILL, remote):
            answer = (await ask(server, CHAT, chat(WORDS, max_tokens=1, kv_transfer_params=params))).json()
            assert answer["kv_transfer_params"] is None
            assert num_held(server) == 0
        text = (await server.client.get("/metrics")).text
        assert "kv_fetch_by_stage" not in text
        assert counter(text, "prompt_tokens_by_source_total", source="local_cache_hit") == 32


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, "/v1/messages"])
async def test_a_load_that_fails_is_an_internal_error(path: str) -> None:
    lost = {"do_remote_prefill": True, "remote_engine_id": "e"}
    body = ({"prompt": WORDS} if path == COMPLETIONS else chat(WORDS)) | {"max_tokens": 3, "kv_transfer_params": lost}
    if path == "/v1/messages":
        body["model"] = "chat-70b-fp8-2026-09-28"
    async with node("kv_consumer") as server:
        answer = await ask(server, path, body)
        assert answer.status_code == 500
        error = answer.json()["error"]
        assert error["message"] == "Internal server error"
        assert error["type"] == ("api_error" if path == "/v1/messages" else "InternalServerError")
        stream = await ask(server, path, body | {"stream": True})
        assert stream.status_code == 200
        assert "Internal server error" in stream.text
        assert stream.text.endswith("[DONE]\n\n") is (path != "/v1/messages")
        entries = (await server.client.get("/mock/requests?state=failed")).json()["requests"]
        assert [entry["finish_reason"] for entry in entries] == ["error", "error"]
        text = (await server.client.get("/metrics")).text
        assert counter(text, "request_success_total", finished_reason="error") == 2
        assert num_held(server) == 0


async def test_or_the_prompt_is_computed_where_it_is_said() -> None:
    async with node("kv_consumer", kv_load_failure_policy="recompute") as server:
        body = chat(WORDS, max_tokens=2, kv_transfer_params={"do_remote_prefill": True})
        answer = (await ask(server, CHAT, body, 1.0)).json()
        assert answer["usage"]["completion_tokens"] == 2
        text = (await server.client.get("/metrics")).text
        assert counter(text, "prompt_tokens_by_source_total", source="local_compute") == 40


async def test_some_loads_fail_by_chance() -> None:
    async with node("kv_producer") as prefill, node("kv_consumer", "--kv-load-failure-rate", "0.5") as decode:
        codes = [
            (await route(prefill, decode, CHAT, chat(f"{WORDS} {number}", max_tokens=1))).status_code
            for number in range(16)
        ]
        assert set(codes) == {200, 500}


async def test_every_choice_of_a_request_fetches_and_then_the_blocks_are_free() -> None:
    async with node("kv_producer") as prefill, node("kv_consumer") as decode:
        params = await prefilled(prefill)
        body = chat(WORDS, max_tokens=2, n=3, temperature=0.5, kv_transfer_params=params)
        assert len((await ask(decode, CHAT, body, 1.0)).json()["choices"]) == 3
        await until(lambda: num_held(prefill) == 0)


async def test_a_client_that_leaves_while_its_kv_is_fetched_leaves_nothing_behind() -> None:
    async with node("kv_producer") as prefill, node("kv_consumer") as decode:
        params = await prefilled(prefill)
        task = asyncio.ensure_future(decode.client.post(CHAT, json=chat(WORDS, kv_transfer_params=params)))
        await decode.advance(0.01)
        assert num_held(decode) == 3
        task.cancel()
        await settle()
        assert num_held(decode) == 0
        await until(lambda: num_held(prefill) == 0)


@pytest.mark.parametrize(
    "fields", [{"temperature": -1}, {"model": "nope"}, {"stream": True, "allowed_token_ids": []}, {"top_p": "x"}]
)
async def test_a_decode_request_that_is_refused_lets_the_blocks_go(fields: dict[str, Any]) -> None:
    async with node("kv_producer") as prefill, node("kv_consumer") as decode:
        params = await prefilled(prefill)
        assert num_held(prefill) == 3
        refused = await ask(decode, CHAT, chat(WORDS, kv_transfer_params=params, **fields))
        assert refused.status_code >= 400 or "error" in refused.text
        await until(lambda: num_held(prefill) == 0)


async def test_one_server_may_be_both_sides() -> None:
    async with node("kv_both") as server:
        response = await route(server, server, CHAT, chat(WORDS, max_tokens=2))
        assert response.json()["usage"]["completion_tokens"] == 2
        assert num_held(server) == 0
        text = (await server.client.get("/metrics")).text
        assert counter(text, "prompt_tokens_by_source_total", source="external_kv_transfer") == 8  # the rest is cached


async def test_what_is_no_notice_is_passed_over_and_a_taken_port_is_no_obstacle() -> None:
    port = support.free_port()
    async with node("kv_producer", port=port) as server, node("kv_both", port=port) as second:
        params = await prefilled(server)
        name = {"engine_id": "kv_producer", "request_id": params["remote_request_id"]}
        noise: list[Any] = [
            b"\xff",
            b"[]",
            b"{}",
            name | {"notice": "gone"},
            name | {"request_id": 5, "notice": "read"},
        ]
        noise += [name | {"engine_id": "another", "notice": "read"}, name | {"request_id": "another", "notice": "read"}]
        for message in noise:
            await send(port, message)
        await asyncio.sleep(0.05)
        assert num_held(server) == 3
        await server.advance(25)
        await send(port, name | {"notice": "heartbeat"})
        await asyncio.sleep(0.05)
        await server.advance(10)
        assert num_held(server) == 3  # 20 s from the sign of life
        await send(port, name | {"notice": "read"})
        await until(lambda: num_held(server) == 0)
        answer = await ask(second, CHAT, chat(WORDS, max_tokens=1, kv_transfer_params=PREFILL))
        assert answer.json()["kv_transfer_params"]["remote_port"] == port


async def send(port: int, message: Any) -> None:
    data = message if isinstance(message, bytes) else json.dumps(message).encode()
    way, _ = await asyncio.get_running_loop().create_datagram_endpoint(
        asyncio.DatagramProtocol, remote_addr=("127.0.0.1", port)
    )
    way.sendto(data)
    way.close()


async def test_a_response_carries_the_parameters_and_a_message_does_not() -> None:
    async with node("kv_producer") as server:
        body = {"input": WORDS, "max_output_tokens": 1, "kv_transfer_params": PREFILL}
        answer = (await ask(server, "/v1/responses", body)).json()
        assert answer["kv_transfer_params"]["remote_num_tokens"] == 40
        message = chat(WORDS, max_tokens=1, kv_transfer_params=PREFILL, model="chat-70b-fp8-2026-09-28")
        assert "kv_transfer_params" not in (await ask(server, "/v1/messages", message)).json()
        assert num_held(server) == 4  # of two leases: two blocks are shared


def test_over_sockets_two_servers_hear_of_each_other_and_a_failure_has_its_status() -> None:
    port = support.free_port()
    environ = {"VLLM_NIXL_SIDE_CHANNEL_HOST": "127.0.0.1", "VLLM_NIXL_SIDE_CHANNEL_PORT": str(port)}
    pace = ("--step-time", "linear", "--linear-base-ms", "5")
    with (
        support.serve(*config("kv_producer", "P"), *pace, env=environ) as prefill,
        support.serve(*config("kv_consumer", "D"), *pace) as decode,
        httpx.Client() as client,
    ):
        asked = chat(WORDS, max_tokens=1, kv_transfer_params=PREFILL)
        params = client.post(prefill.url + CHAT, json=asked).json()["kv_transfer_params"]
        assert usage(client, prefill) > 0
        lost = chat(WORDS, kv_transfer_params=params | {"remote_block_ids": []})
        for body, status in ((lost, 500), (lost | {"stream": True}, 200), (chat(WORDS, max_tokens=2), 200)):
            answer = client.post(decode.url + CHAT, json=body)
            assert answer.status_code == status
            assert ("Internal server error" in answer.text) == ("kv_transfer_params" in body)
        answer = client.post(decode.url + CHAT, json=chat(WORDS, max_tokens=2, kv_transfer_params=params))
        assert answer.json()["usage"]["completion_tokens"] == 2
        deadline = time.monotonic() + 5
        while usage(client, prefill) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert usage(client, prefill) == 0
        assert "500 Internal Server Error" in decode.output()


def usage(client: httpx.Client, server: support.Service) -> float:
    return counter(client.get(f"{server.url}/metrics").text, "kv_cache_usage_perc")


@pytest.mark.parametrize("stream", [False, True])
async def test_a_background_response_whose_load_fails_has_failed(stream: bool) -> None:
    environ = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}
    body = {"input": WORDS, "background": True, "stream": stream, "kv_transfer_params": {"do_remote_prefill": True}}
    async with in_process(*config("kv_consumer", "D"), environ=environ) as server:
        task = asyncio.ensure_future(server.client.post("/v1/responses", json=body, headers={"X-Request-Id": "r"}))
        await server.advance(1)
        task.cancel()
        kept = (await server.client.get("/v1/responses/resp_r")).json()
        assert (kept["status"], kept["output"]) == ("failed", [])
