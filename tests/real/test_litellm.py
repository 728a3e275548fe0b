"""litellm as a library: its `hosted_vllm` and `openai` providers, and what it makes of errors."""

import json
from typing import Any

import litellm
import pytest
from scene import MODEL, SENTENCE, WEATHER, call, say

pytestmark = [
    pytest.mark.usefixtures("loopback_only"),
    pytest.mark.filterwarnings("ignore"),  # pydantic warns of its types, asyncio of clients that it leaves open
]


@pytest.fixture(params=["hosted_vllm", "openai"])
def options(assistant: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    return {"model": f"{request.param}/{MODEL}", "api_base": f"{assistant}/v1", "api_key": "none", "num_retries": 0}


def ask(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


def test_a_whole_answer(options: dict[str, Any]) -> None:
    answer = litellm.completion(messages=ask("¿Cuándo llega mi pedido?"), **options)
    assert (answer.choices[0].message.content, answer.choices[0].finish_reason) == (SENTENCE, "stop")
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, 13)


async def test_a_stream(options: dict[str, Any]) -> None:
    usage = {"include_usage": True}
    stream = await litellm.acompletion(messages=ask("hola"), max_tokens=5, stream=True, stream_options=usage, **options)
    chunks = [chunk async for chunk in stream]
    texts = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    assert "".join(texts) == "Tu pedido sale mañana y"
    assert [chunk.usage.completion_tokens for chunk in chunks if getattr(chunk, "usage", None)] == [5]


def test_tools(options: dict[str, Any]) -> None:
    asked = ask(say(call("Madrid")))
    (made,) = litellm.completion(messages=asked, tools=[WEATHER], **options).choices[0].message.tool_calls
    assert (made.function.name, json.loads(made.function.arguments)) == ("get_weather", {"city": "Madrid"})
    chunks = list(litellm.completion(messages=asked, tools=[WEATHER], stream=True, **options))
    whole = litellm.stream_chunk_builder(chunks)
    (streamed,) = whole.choices[0].message.tool_calls
    assert json.loads(streamed.function.arguments) == {"city": "Madrid"}


def test_completions(options: dict[str, Any]) -> None:
    answer = litellm.text_completion(prompt="hola", max_tokens=3, **options)
    assert answer.choices[0].text.split() == ["Tu", "pedido", "sale"]


def test_errors_have_their_kind(options: dict[str, Any]) -> None:
    with pytest.raises(litellm.BadRequestError, match="temperature"):
        litellm.completion(messages=ask("hola"), temperature=-1, **options)
    provider = options["model"].split("/")[0]
    with pytest.raises(litellm.NotFoundError, match="does not exist"):
        litellm.completion(messages=ask("hola"), **{**options, "model": f"{provider}/nobody"})
