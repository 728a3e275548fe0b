"""The official `openai` SDK where it does more than send and read: accumulated streams, tools, parsed answers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from openai import OpenAI, pydantic_function_tool
from pydantic import BaseModel
from scene import MODEL, SENTENCE, WEATHER, call, say

pytestmark = pytest.mark.usefixtures("loopback_only")


class Order(BaseModel):
    number: int
    lines: list[str]


class GetWeather(BaseModel):
    """Tells the weather."""

    city: str


@pytest.fixture
def client(assistant: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{assistant}/v1", api_key="none", max_retries=0) as opened:
        yield opened


def ask(text: str, **options: Any) -> dict[str, Any]:
    return {"model": MODEL, "messages": [{"role": "user", "content": text}], **options}


@pytest.mark.parametrize("cities", [("Madrid",), ("Lugo", "A Coruña")])
def test_tool_calls_add_up_in_a_stream(client: OpenAI, cities: tuple[str, ...]) -> None:
    text = say("\n".join(call(city) for city in cities))
    with client.chat.completions.stream(**ask(text, tools=[WEATHER])) as stream:
        events = [event for event in stream if event.type == "tool_calls.function.arguments.done"]
        choice = stream.get_final_completion().choices[0]
    assert choice.finish_reason == "tool_calls"
    done = [json.loads(event.arguments) for event in events]
    assert done == [{"city": city} for city in cities]
    assert [json.loads(made.function.arguments) for made in choice.message.tool_calls or ()] == done
    assert len({made.id for made in choice.message.tool_calls or ()}) == len(cities)


def test_a_result_is_sent_back(client: OpenAI) -> None:
    message = client.chat.completions.create(**ask(say(call("Madrid")), tools=[WEATHER])).choices[0].message
    assert message.tool_calls is not None
    result = {"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "20 grados"}
    turns: Any = [{"role": "user", "content": "¿Qué tiempo hace?"}, message, result]
    answer = client.chat.completions.create(model=MODEL, messages=turns, tools=[WEATHER])
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (SENTENCE, "stop")


def test_the_arguments_are_parsed(client: OpenAI) -> None:
    said = say('<tool_call>{"name": "GetWeather", "arguments": {"city": "Lugo"}}</tool_call>')
    completion = client.chat.completions.parse(**ask(said, tools=[pydantic_function_tool(GetWeather)]))
    assert completion.choices[0].message.tool_calls is not None
    assert completion.choices[0].message.tool_calls[0].function.parsed_arguments == GetWeather(city="Lugo")


@pytest.mark.parametrize("order", [Order(number=7, lines=["té", "café"]), Order(number=-1, lines=[])])
def test_an_answer_is_parsed(client: OpenAI, order: Order) -> None:
    asked = ask(say(order.model_dump_json()), response_format=Order)
    assert client.chat.completions.parse(**asked).choices[0].message.parsed == order
    with client.chat.completions.stream(**asked) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == order


def test_completions(client: OpenAI) -> None:
    whole = client.completions.create(model=MODEL, prompt=["uno", "dos tres"], max_tokens=3, echo=True)
    assert [choice.text for choice in whole.choices] == ["unoTu pedido sale", "dos tresTu pedido sale"]
    assert whole.usage is not None
    assert (whole.usage.prompt_tokens, whole.usage.completion_tokens) == (3, 6)
    stream = client.completions.create(model=MODEL, prompt="uno", max_tokens=4, stream=True)
    chunks = [chunk.choices[0] for chunk in stream]
    assert "".join(chunk.text for chunk in chunks).split() == ["Tu", "pedido", "sale", "mañana"]
    assert [chunk.finish_reason for chunk in chunks] == [None, None, None, "length"]
