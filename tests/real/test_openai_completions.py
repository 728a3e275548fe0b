"""The official `openai` SDK on /v1/completions, over a real socket."""

from collections.abc import Iterator

import openai
import pytest
import support
from openai import OpenAI

MODEL = "chat-70b-fp8-2026-09-28"


@pytest.fixture(scope="module")
def client() -> Iterator[OpenAI]:
    with (
        support.serve("--ttft-ms", "30", "--itl-ms", "5", "--answer", "repeat") as server,
        OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as opened,
    ):
        yield opened


def test_a_whole_completion(client: OpenAI) -> None:
    answer = client.completions.create(model=MODEL, prompt="uno dos", max_tokens=3, logprobs=2, echo=True)
    (choice,) = answer.choices
    assert (choice.text, choice.finish_reason) == ("uno dosTu pedido sale", "length")
    assert choice.logprobs is not None
    assert choice.logprobs.tokens == ["uno", " dos", "Tu", " pedido", " sale"]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (2, 3)


def test_a_stream_of_several_prompts_and_choices(client: OpenAI) -> None:
    texts: dict[int, str] = {}
    chunks = client.completions.create(model=MODEL, prompt=["uno", "dos"], n=2, max_tokens=4, stream=True)
    for chunk in chunks:
        for choice in chunk.choices:
            texts[choice.index] = texts.get(choice.index, "") + choice.text
    assert texts == dict.fromkeys(range(4), "Tu pedido sale mañana")


def test_a_stop_string_ends_a_stream(client: OpenAI) -> None:
    chunks = list(client.completions.create(model=MODEL, prompt="uno", stop=["mañana"], stream=True))
    assert "".join(chunk.choices[0].text for chunk in chunks) == "Tu pedido sale "
    assert chunks[-1].choices[0].finish_reason == "stop"


def test_a_refusal_is_the_sdk_s_own_error(client: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as refused:
        client.completions.create(model=MODEL, prompt="uno", suffix="x")
    assert refused.value.param == "suffix"
    with pytest.raises(openai.NotFoundError):
        client.completions.create(model="other", prompt="uno")
