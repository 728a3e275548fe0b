"""Lesson 7: what the server says to curl, and when. Its figures, and others that follow from the same rules."""

import json
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import httpx
import pytest
import support
from patience import patient

QUESTION = {"messages": [{"role": "user", "content": "¿Cuándo llega mi pedido?"}]}
WORDS = ["Tu", "pedido", "sale", "mañana", "y", "llega", "en", "dos", "o", "tres", "días", "hábiles", "."]
STREAMED = {"stream": True, "stream_options": {"include_usage": True}}


class Paced(NamedTuple):
    """A server and its pace in seconds."""

    client: httpx.Client
    ttft: float
    itl: float


@pytest.fixture(scope="module", params=[("0.30", 300, 40), ("0.33", 150, 60)], ids=["lesson", "other"])
def server(request: pytest.FixtureRequest) -> Iterator[Paced]:
    profile, ttft, itl = request.param
    with (
        support.serve("--profile", profile, "--ttft-ms", str(ttft), "--itl-ms", str(itl)) as running,
        httpx.Client(base_url=running.url, trust_env=False, timeout=30) as client,
    ):
        yield Paced(client, ttft / 1000, itl / 1000)


def chat(server: Paced, **fields: Any) -> tuple[dict[str, Any], float]:
    """The answer, and the seconds it took."""
    start = time.perf_counter()
    response = server.client.post("/v1/chat/completions", json={**QUESTION, **fields})
    return response.json(), time.perf_counter() - start


def test_health_and_models(server: Paced) -> None:
    health = server.client.get("/health")
    assert (health.status_code, health.content) == (200, b"")
    [card] = server.client.get("/v1/models").json()["data"]
    name = "chat-70b-fp8-2026-09-28"
    assert (card["id"], card["root"], card["max_model_len"]) == (name, f"/models/{name}", 8192)


@pytest.mark.parametrize("limit", [5, 2])
@patient
def test_a_limited_answer(server: Paced, limit: int) -> None:
    answer, seconds = chat(server, max_completion_tokens=limit)
    [choice] = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (" ".join(WORDS[:limit]), "length")
    used = {name: answer["usage"][name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    assert used == {"prompt_tokens": 4, "completion_tokens": limit, "total_tokens": 4 + limit}
    assert seconds == pytest.approx(server.ttft + (limit - 1) * server.itl, abs=0.04)


def test_a_whole_answer_ends_on_its_last_word(server: Paced) -> None:
    answer, _ = chat(server)
    [choice] = answer["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (" ".join(WORDS), "stop")
    assert (answer["usage"]["completion_tokens"], answer["usage"]["total_tokens"]) == (13, 17)
    *_, last, usage, done = [event for _, event in events(server)]
    assert (last["choices"][0]["delta"], last["choices"][0]["finish_reason"]) == ({"content": " ."}, "stop")
    assert (usage["choices"], usage["usage"]["total_tokens"], done) == ([], 17, "[DONE]")


def events(server: Paced, **fields: Any) -> list[tuple[float, Any]]:
    """Each event with its time since the request."""
    start, found = time.perf_counter(), []
    with server.client.stream("POST", "/v1/chat/completions", json={**QUESTION, **STREAMED, **fields}) as response:
        for line in response.iter_lines():
            data = line.removeprefix("data: ")
            if data:
                found.append((time.perf_counter() - start, data if data == "[DONE]" else json.loads(data)))
    return found


@pytest.mark.parametrize("limit", [4, 2])
@patient
def test_a_stream_has_three_events_more_than_tokens(server: Paced, limit: int) -> None:
    found = events(server, max_completion_tokens=limit)
    times, (role, *tokens, usage, done) = [at for at, _ in found], [event for _, event in found]
    assert len(found) == limit + 3
    assert role["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert [token["choices"][0]["delta"]["content"].strip() for token in tokens] == WORDS[:limit]
    assert [token["choices"][0]["finish_reason"] for token in tokens] == [None] * (limit - 1) + ["length"]
    assert (usage["choices"], usage["usage"]) == (
        [],
        {"prompt_tokens": 4, "total_tokens": 4 + limit, "completion_tokens": limit},
    )
    assert done == "[DONE]"
    assert times[0] == pytest.approx(server.ttft, abs=0.03)
    assert times[1] - times[0] < 0.01  # the role and the first word come together
    gaps = [later - earlier for earlier, later in pairwise(times[1 : limit + 1])]
    assert gaps == pytest.approx([server.itl] * (limit - 1), abs=0.015)


@pytest.mark.parametrize("name", ["chat-default", "other"])
@pytest.mark.parametrize(
    ("profile", "aliases"),
    [
        ("0.30", ""),
        ("0.32", " Valid aliases: chat-70b-fp8-2026-09-28."),
        ("0.33", " Valid aliases: chat-70b-fp8-2026-09-28."),
    ],
)
def test_a_model_that_is_not_served(
    serve: Callable[..., support.Service], profile: str, aliases: str, name: str
) -> None:
    running = serve("--profile", profile)
    response = httpx.post(f"{running.url}/v1/chat/completions", json={**QUESTION, "model": name}, trust_env=False)
    message = f"The model `{name}` does not exist.{aliases}"
    body = {"error": {"message": message, "type": "NotFoundError", "param": "model", "code": 404}}
    assert (response.status_code, response.text) == (404, json.dumps(body, separators=(",", ":")))


@pytest.mark.parametrize("heard", [5, 2])
def test_who_leaves_is_noticed_and_its_blocks_are_free(server: Paced, heard: int) -> None:
    name = f"hasty-{heard}"
    headers = {"x-request-id": name}
    with server.client.stream(
        "POST", "/v1/chat/completions", json={**QUESTION, **STREAMED}, headers=headers
    ) as response:
        lines = (line for line in response.iter_lines() if line)
        for _ in range(heard + 1):  # the role comes first
            next(lines)
    deadline = time.monotonic() + 5
    while (entry := server.client.get(f"/mock/requests/{name}").json())["state"] == "running":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert entry["state"] == "aborted_client"
    assert heard <= entry["tokens_written"] <= heard + 2
    assert entry["blocks"]["free_after"] == 13045
    assert entry["timeline"]["blocks_freed"] >= entry["timeline"]["client_closed"]["t"]
