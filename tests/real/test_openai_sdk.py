"""The official `openai` SDK, over every route, streaming and not."""

from collections.abc import Iterator

import openai
import pytest
import routes
import support
from openai import AsyncOpenAI, OpenAI

SENTENCE = "Tu pedido sale mañana y llega en dos o tres días hábiles ."
MODEL = "chat-70b-fp8-2026-09-28"
ASK = [{"role": "user", "content": "¿Cuándo llega mi pedido?"}]


@pytest.fixture(scope="module")
def server() -> Iterator[support.Service]:
    with support.serve("--ttft-ms", "60", "--itl-ms", "10") as running:
        yield running


@pytest.fixture(scope="module", params=[*routes.STREAMING, *routes.BUFFERING])
def url(server: support.Service, request: pytest.FixtureRequest) -> Iterator[str]:
    with request.param(server.url) as routed:
        yield f"{routed}/v1"


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as opened:
        yield opened


def test_models(client: OpenAI) -> None:
    assert [model.id for model in client.models.list()] == [MODEL]


@pytest.mark.parametrize(
    ("limit", "said", "reason", "tokens"), [(None, SENTENCE, "stop", 13), (5, "Tu pedido sale mañana y", "length", 5)]
)
def test_a_whole_answer(client: OpenAI, limit: int | None, said: str, reason: str, tokens: int) -> None:
    answer = client.chat.completions.create(model=MODEL, messages=ASK, max_completion_tokens=limit)
    assert answer.choices[0].message.content == said
    assert answer.choices[0].finish_reason == reason
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (4, tokens)


def test_a_stream(client: OpenAI) -> None:
    options = {"include_usage": True}
    chunks = list(client.chat.completions.create(model=MODEL, messages=ASK, stream=True, stream_options=options))
    *spoken, last = chunks
    assert spoken[0].choices[0].delta.role == "assistant"
    assert "".join(chunk.choices[0].delta.content or "" for chunk in spoken) == SENTENCE
    assert [chunk.choices[0].finish_reason for chunk in spoken[-2:]] == [None, "stop"]
    assert (last.choices, last.usage.completion_tokens, last.usage.total_tokens) == ([], 13, 17)


def test_two_choices_in_one_stream(client: OpenAI) -> None:
    texts = ["", ""]
    for chunk in client.chat.completions.create(model=MODEL, messages=ASK, stream=True, n=2, max_completion_tokens=3):
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == ["Tu pedido sale"] * 2


async def test_async(url: str) -> None:
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:
        answer = await client.chat.completions.create(model=MODEL, messages=ASK)
        stream = await client.chat.completions.create(model=MODEL, messages=ASK, stream=True)
        parts = [chunk.choices[0].delta.content or "" async for chunk in stream]
    assert answer.choices[0].message.content == SENTENCE
    assert "".join(parts) == SENTENCE
    assert len(parts) == 14  # the role, then a word each


def test_an_unknown_model_is_the_sdk_s_not_found(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError, match="The model `chat-default` does not exist"):
        client.chat.completions.create(model="chat-default", messages=ASK)


def test_a_wrong_parameter_is_the_sdk_s_bad_request(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="temperature"):
        client.chat.completions.create(model=MODEL, messages=ASK, temperature=-1)


def test_a_key_is_demanded_and_accepted() -> None:
    with support.serve("--api-key", "s3cret") as guarded:
        url = f"{guarded.url}/v1"
        with OpenAI(base_url=url, api_key="other") as stranger, pytest.raises(openai.AuthenticationError):
            stranger.models.list()
        with OpenAI(base_url=url, api_key="s3cret") as friend:
            assert [model.id for model in friend.models.list()] == [MODEL]
