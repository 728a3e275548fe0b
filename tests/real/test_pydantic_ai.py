"""pydantic-ai: an agent whose tools are run between two requests, whole and streamed, and typed results."""

from collections.abc import AsyncIterator

import pytest
from openai import AsyncOpenAI
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput, ToolOutput
from pydantic_ai.messages import ModelRequest, ToolReturnPart
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from scene import MODEL, SENTENCE, call, say

pytestmark = pytest.mark.usefixtures("loopback_only")


class Order(BaseModel):
    number: int


@pytest.fixture
async def model(assistant: str) -> AsyncIterator[OpenAIChatModel]:
    async with AsyncOpenAI(base_url=f"{assistant}/v1", api_key="none", max_retries=0) as client:
        yield OpenAIChatModel(MODEL, provider=OpenAIProvider(openai_client=client))


async def test_an_answer(model: OpenAIChatModel) -> None:
    result = await Agent(model).run("¿Cuándo llega mi pedido?")
    usage = result.usage
    assert (result.output, usage.input_tokens, usage.output_tokens) == (SENTENCE, 4, 13)


async def test_a_stream(model: OpenAIChatModel) -> None:
    async with Agent(model).run_stream("hola") as result:
        texts = [text async for text in result.stream_text(delta=True, debounce_by=None)]
    assert "".join(texts) == SENTENCE
    assert len(texts) == 13


@pytest.mark.parametrize("city", ["Madrid", "A Coruña"])
async def test_a_tool_is_run_with_the_model_s_arguments(model: OpenAIChatModel, city: str) -> None:
    agent, asked = Agent(model), []

    @agent.tool_plain(name="get_weather", retries=0)
    def get_weather(city: str) -> str:
        """What the model calls once; the answer to its result is the last user message's again."""
        asked.append(city)
        return "20 grados"

    async with agent.iter(say(call(city))) as run:
        results: list[ToolReturnPart] = []
        async for node in run:
            request = getattr(node, "request", None)
            if isinstance(request, ModelRequest):
                results = [part for part in request.parts if isinstance(part, ToolReturnPart)]
            if results:
                break
    assert asked == [city]
    assert [(part.tool_name, part.content) for part in results] == [("get_weather", "20 grados")]


@pytest.mark.parametrize("number", [7, -12])
async def test_a_typed_result_is_a_tool_call(model: OpenAIChatModel, number: int) -> None:
    agent = Agent(model, output_type=ToolOutput(Order, name="final_result"), retries=0)
    arguments = f'{{"number": {number}}}'
    result = await agent.run(say(f'<tool_call>{{"name": "final_result", "arguments": {arguments}}}</tool_call>'))
    assert result.output == Order(number=number)


@pytest.mark.parametrize("number", [7, -12])
async def test_a_typed_result_is_the_answer(model: OpenAIChatModel, number: int) -> None:
    agent = Agent(model, output_type=NativeOutput(Order), retries=0)
    assert (await agent.run(say(Order(number=number).model_dump_json()))).output == Order(number=number)
