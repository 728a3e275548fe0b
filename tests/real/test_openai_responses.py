"""The official `openai` SDK against /v1/responses, streaming and not."""

from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
import support
from openai import AsyncOpenAI, OpenAI
from pydantic import BaseModel

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
MODEL = "chat-70b-fp8-2026-09-28"
TOOLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
TOOL: Any = {
    "type": "function",
    "name": "get_weather",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    "strict": False,
}
CALL = '<tool_call>{"name": "get_weather", "arguments": {"city": "Madrid"}}</tool_call>'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    store = {"VLLM_ENABLE_RESPONSES_API_STORE": "1"}
    with support.serve("--ttft-ms", "200", "--itl-ms", "5", *TOOLS, env=store) as running:
        yield f"{running.url}/v1"


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as opened:
        yield opened


def test_a_whole_response(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input="¿Cuándo llega?")
    assert (response.status, response.output_text) == ("completed", SENTENCE)
    assert response.usage is not None
    assert (response.usage.input_tokens, response.usage.output_tokens) == (2, 13)


def test_a_cut_response(client: OpenAI) -> None:
    response = client.responses.create(model=MODEL, input="hola", max_output_tokens=2)
    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"


def test_a_stream(client: OpenAI) -> None:
    with client.responses.stream(model=MODEL, input="hola") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        final = stream.get_final_response()
    assert text == final.output_text == SENTENCE


def test_a_conversation(client: OpenAI) -> None:
    first = client.responses.create(model=MODEL, input="una dos")
    second = client.responses.create(model=MODEL, input="tres", previous_response_id=first.id)
    assert client.responses.retrieve(second.id).output_text == second.output_text
    assert first.usage is not None and second.usage is not None
    assert second.usage.input_tokens == 2 + 13 + 1


def test_a_background_response(client: OpenAI) -> None:
    queued = client.responses.create(model=MODEL, input="hola", background=True)
    assert queued.status == "queued"
    cancelled = client.responses.cancel(queued.id)
    assert cancelled.status == "cancelled"
    assert client.responses.retrieve(queued.id).status == "cancelled"


def test_a_function_is_called_and_its_result_sent_back(client: OpenAI) -> None:
    with client.responses.stream(model=MODEL, input=f"[[say]]{CALL}[[/say]]", tools=[TOOL]) as stream:
        kinds = [event.type for event in stream]
        response = stream.get_final_response()
    assert "response.function_call_arguments.done" in kinds
    (call,) = response.output
    assert call.type == "function_call"
    assert (call.name, call.arguments) == ("get_weather", '{"city": "Madrid"}')
    result: Any = {"type": "function_call_output", "call_id": call.call_id, "output": "20 grados"}
    turns: Any = [{"role": "user", "content": "¿Qué tiempo hace?"}, call.model_dump(), result]
    answer = client.responses.create(model=MODEL, input=turns, tools=[TOOL])
    assert answer.output_text == SENTENCE


def test_reasoning() -> None:
    with (
        support.serve("--reasoning-parser", "qwen3") as server,
        OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as client,
    ):
        response = client.responses.create(model=MODEL, input="[[say]]‹think› a ver ‹/think› Hola[[/say]]")
    reasoning, message = response.output
    assert (reasoning.type, message.type, response.output_text) == ("reasoning", "message", " Hola")


class Envio(BaseModel):
    ciudad: str
    dias: int


def test_an_answer_is_parsed(client: OpenAI) -> None:
    said = '[[say]]{"ciudad": "Madrid", "dias": 3}[[/say]]'
    response = client.responses.parse(model=MODEL, input=said, text_format=Envio)
    assert response.output_parsed == Envio(ciudad="Madrid", dias=3)


def test_errors_are_the_sdk_s(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="resp_nope"):
        client.responses.retrieve("resp_nope")
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.responses.create(model=MODEL, input="hola", temperature=7)


def test_a_stream_begins_before_its_first_token(url: str) -> None:
    body = {"input": "hola", "stream": True}
    with httpx.stream("POST", f"{url}/responses", json=body, timeout=10) as response:
        first = next(response.iter_text())
    assert "response.in_progress" in first
    assert "response.output_item.added" not in first


def test_an_engine_that_refuses_cuts_the_connection(url: str) -> None:
    body = {"input": "hola", "stream": True, "include": ["message.output_text.logprobs"], "top_logprobs": 21}
    got = ""
    with (
        pytest.raises(httpx.RemoteProtocolError, match="incomplete chunked read"),
        httpx.stream("POST", f"{url}/responses", json=body, timeout=10) as response,
    ):
        for text in response.iter_text():
            got += text
    assert got.count("event: ") == 2


async def test_async(url: str) -> None:
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        stream = await client.responses.create(model=MODEL, input="hola", stream=True)
        kinds = [event.type async for event in stream]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
