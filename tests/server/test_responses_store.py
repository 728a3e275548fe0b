"""/v1/responses/{id}: responses that are kept, go on in the background, are followed and cancelled."""

import asyncio
import json
from typing import Any

import httpx
import pytest
from server.harness import InProcess, in_process, settle

STORE = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}
PATH = "/v1/responses"
PACE = ("--ttft-ms", "100", "--itl-ms", "10")


async def finished(server: InProcess, **fields: Any) -> dict[str, Any]:
    task = asyncio.ensure_future(server.client.post(PATH, json={"input": "hola", **fields}))
    await server.advance(10)
    response = await task
    response.raise_for_status()
    body: dict[str, Any] = response.json()
    return body


async def get(server: InProcess, response_id: str, **query: Any) -> httpx.Response:
    return await server.client.get(f"{PATH}/{response_id}", params=query)


def events(text: str) -> list[Any]:
    return [json.loads(event.partition("\ndata: ")[2]) for event in text.split("\n\n") if event]


async def test_what_is_kept_is_found() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        body = await finished(server)
        assert (await get(server, body["id"])).json() == body
        assert (await get(server, "resp_other")).status_code == 404


@pytest.mark.parametrize(("environ", "fields"), [({}, {}), (STORE, {"store": False})])
async def test_what_is_not_kept_is_not_found(environ: dict[str, str], fields: dict[str, Any]) -> None:
    async with in_process(*PACE, environ=environ) as server:
        body = await finished(server, **fields)
        missing = await get(server, body["id"])
        assert missing.status_code == 404
        message = f"Response with id '{body['id']}' not found."
        error = {"message": message, "type": "invalid_request_error", "param": "response_id", "code": 404}
        assert missing.json() == {"error": error}


async def test_a_stream_is_kept_too() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        task = asyncio.ensure_future(server.client.post(PATH, json={"input": "hola", "stream": True}))
        await server.advance(10)
        *_, last = events((await task).text)
        assert (await get(server, last["response"]["id"])).json() == last["response"]


async def test_a_conversation_goes_on_without_its_instructions() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        first = await finished(server, instructions="una dos tres", max_output_tokens=4)
        assert first["usage"]["input_tokens"] == 4
        second = await finished(server, previous_response_id=first["id"], max_output_tokens=2)
        assert second["usage"]["input_tokens"] == 1 + 4 + 1
        assert second["previous_response_id"] == first["id"]
        third = await finished(server, previous_response_id=second["id"], input="[[say]]tres[[/say]]")
        assert third["usage"]["input_tokens"] == 6 + 2 + 1
        assert third["output"][0]["content"][0]["text"] == "tres"


async def test_a_background_response_is_queued_then_done() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        queued = (await server.client.post(PATH, json={"input": "hola", "background": True})).json()
        assert (queued["status"], queued["output"], queued["background"]) == ("queued", [], True)
        assert (await get(server, queued["id"])).json() == queued
        await server.advance(10)
        done = (await get(server, queued["id"])).json()
        assert (done["status"], done["usage"]["output_tokens"]) == ("completed", 13)
        assert (await server.journal(queued["id"]))["state"] == "finished"


async def test_a_background_stream_is_followed_by_whoever_asks() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        asked = {"input": "hola", "background": True, "stream": True, "request_id": "bg", "max_output_tokens": 3}
        async with server.client.stream("POST", PATH, json=asked) as response:
            await server.advance(0.105)
            first = await anext(response.aiter_text())
        assert events(first)[0]["type"] == "response.created"
        follower = asyncio.ensure_future(get(server, "resp_bg", stream=True, starting_after=3))
        await server.advance(10)
        found = events((await follower).text)
        assert [event["sequence_number"] for event in found] == list(range(4, 11))
        assert found[-1]["type"] == "response.incomplete"
        assert (await server.journal("resp_bg"))["state"] == "finished"
        again = events((await get(server, "resp_bg", stream=True)).text)
        assert again[4:] == found


async def test_only_what_runs_in_the_background_is_followed() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        body = await finished(server)
        error = (await get(server, body["id"], stream=True)).json()["error"]
        assert error["message"] == f"Unknown response_id: {body['id']} (parameter=response_id, value={body['id']})"


async def test_a_background_response_is_cancelled() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        queued = (await server.client.post(PATH, json={"input": "hola", "background": True})).json()
        await server.advance(0.12)
        free = server.backend.driver.core.engine.num_running
        assert free == 1
        cancelled = (await server.client.post(f"{PATH}/{queued['id']}/cancel")).json()
        assert cancelled == queued | {"status": "cancelled"}
        await server.advance(10)
        assert server.backend.driver.core.engine.num_running == 0
        assert (await get(server, queued["id"])).json()["status"] == "cancelled"
        again = await server.client.post(f"{PATH}/{queued['id']}/cancel")
        assert (again.status_code, again.json()["error"]["message"]) == (400, "Cannot cancel a synchronous response.")


async def test_whoever_follows_a_cancelled_response_is_let_go() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        asked = {"input": "hola", "background": True, "stream": True, "request_id": "bg"}
        task = asyncio.ensure_future(server.client.post(PATH, json=asked))
        await server.advance(0.12)
        await server.client.post(f"{PATH}/resp_bg/cancel")
        await settle()
        assert "response.completed" not in (await task).text


async def test_what_is_done_cannot_be_cancelled() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        body = await finished(server)
        assert (await server.client.post(f"{PATH}/{body['id']}/cancel")).status_code == 400
        assert (await server.client.post(f"{PATH}/resp_other/cancel")).status_code == 404


async def test_a_client_that_leaves_is_aborted_and_nothing_is_kept() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        asked = {"input": "hola", "stream": True, "request_id": "left"}
        async with server.client.stream("POST", PATH, json=asked) as response:
            await server.advance(0.12)
            await anext(response.aiter_text())
        await settle()
        assert (await server.journal("resp_left"))["state"] == "aborted_client"
        assert (await get(server, "resp_left")).status_code == 404


async def test_an_engine_that_refuses_cuts_the_stream_off() -> None:
    async with in_process(*PACE) as server:
        headers = {"X-data-parallel-rank": "7"}
        with pytest.raises(BaseException, match="cut off"):
            await server.client.post(PATH, json={"input": "hola", "stream": True}, headers=headers)
        assert (await server.client.post(PATH, json={"input": "hola"}, headers=headers)).status_code == 400


async def test_a_query_that_is_not_valid() -> None:
    async with in_process(*PACE, environ=STORE) as server:
        answer = await get(server, "resp_x", starting_after="abc")
        error = answer.json()["error"]
        assert (answer.status_code, error["type"], error["param"]) == (400, "Bad Request", "query.starting_after")
        assert error["message"].startswith(
            "1 validation error:\n  {'type': 'int_parsing', 'loc': 'query.starting_after'"
        )
