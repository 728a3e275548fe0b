"""langchain-openai: a chat model with tools, streams and structured output."""

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI, OpenAI
from pydantic import BaseModel, SecretStr
from scene import MODEL, SENTENCE, WEATHER, call, say

pytestmark = pytest.mark.usefixtures("loopback_only")


class Order(BaseModel):
    number: int


@pytest.fixture
def chat(assistant: str) -> ChatOpenAI:
    return ChatOpenAI(model=MODEL, base_url=f"{assistant}/v1", api_key=SecretStr("none"), max_retries=0)


def test_a_whole_answer(chat: ChatOpenAI) -> None:
    answer = chat.invoke("¿Cuándo llega mi pedido?")
    assert isinstance(answer, AIMessage)
    assert (answer.content, answer.response_metadata["finish_reason"]) == (SENTENCE, "stop")
    assert answer.usage_metadata is not None
    assert (answer.usage_metadata["input_tokens"], answer.usage_metadata["output_tokens"]) == (4, 13)


async def test_a_stream(chat: ChatOpenAI) -> None:
    chunks = [chunk async for chunk in chat.astream("hola", max_tokens=5)]
    assert "".join(chunk.text for chunk in chunks) == "Tu pedido sale mañana y"


def test_tools_and_their_results(chat: ChatOpenAI) -> None:
    model = chat.bind_tools([WEATHER])
    asked = [HumanMessage(say(call("Madrid")))]
    answer = model.invoke(asked)
    (made,) = answer.tool_calls
    assert (made["name"], made["args"]) == ("get_weather", {"city": "Madrid"})
    turns = [HumanMessage("¿Qué tiempo hace?"), answer, ToolMessage("20 grados", tool_call_id=made["id"])]
    assert model.invoke(turns).content == SENTENCE


def test_tool_calls_add_up_in_a_stream(chat: ChatOpenAI) -> None:
    total: AIMessageChunk | None = None
    for chunk in chat.bind_tools([WEATHER]).stream(say(call("A Coruña"))):
        assert isinstance(chunk, AIMessageChunk)
        total = chunk if total is None else total + chunk
    assert total is not None
    assert [made["args"] for made in total.tool_calls] == [{"city": "A Coruña"}]


@pytest.mark.parametrize("number", [7, -12])
def test_structured_output(chat: ChatOpenAI, number: int) -> None:
    order = Order(number=number)
    assert chat.with_structured_output(Order).invoke(say(order.model_dump_json())) == order


def test_completions(assistant: str) -> None:
    model = OpenAI(
        model=MODEL, base_url=f"{assistant}/v1", api_key=SecretStr("none"), max_tokens=3, max_retries=0, temperature=0
    )
    assert model.invoke("hola").split() == ["Tu", "pedido", "sale"]


def test_responses(assistant: str) -> None:
    model = ChatOpenAI(
        model=MODEL, base_url=f"{assistant}/v1", api_key=SecretStr("none"), max_retries=0, use_responses_api=True
    )
    assert model.invoke("hola").text == SENTENCE
