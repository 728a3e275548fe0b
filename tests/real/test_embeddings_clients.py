"""Embeddings as clients ask a pooling model for them: by default in base64, which their SDK unpacks."""

from collections.abc import Iterator
from typing import Any

import litellm
import openai
import pytest
import support
from langchain_openai import OpenAIEmbeddings
from openai import OpenAI
from pydantic import SecretStr
from scene import MODEL

pytestmark = [
    pytest.mark.usefixtures("loopback_only"),
    pytest.mark.filterwarnings("ignore"),  # of litellm
]
SIZE = 384
CONFIG = f'{{"hidden_size": {SIZE}, "is_matryoshka": true}}'


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with support.serve("--runner", "pooling", "--ttft-ms", "20", "--hf-overrides", CONFIG) as running:
        yield f"{running.url}/v1"


@pytest.fixture
def client(url: str) -> Iterator[OpenAI]:
    with OpenAI(base_url=url, api_key="none", max_retries=0) as opened:
        yield opened


def test_openai(client: OpenAI) -> None:
    answer = client.embeddings.create(model=MODEL, input=["uno dos", "tres"])
    assert [len(entry.embedding) for entry in answer.data] == [SIZE, SIZE]
    assert (answer.usage.prompt_tokens, answer.usage.total_tokens) == (3, 3)
    floats = client.embeddings.create(model=MODEL, input=["uno dos", "tres"], encoding_format="float")
    for packed, plain in zip(answer.data, floats.data, strict=True):
        assert packed.embedding == pytest.approx(plain.embedding)
    assert len(client.embeddings.create(model=MODEL, input="uno", dimensions=16).data[0].embedding) == 16
    with pytest.raises(openai.BadRequestError, match="only supports dimensions in range"):
        client.embeddings.create(model=MODEL, input="uno", dimensions=SIZE + 1)


def test_a_pooling_model_says_nothing(client: OpenAI) -> None:
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": "hola"}])


@pytest.mark.parametrize("texts", [["uno dos", "tres"], ["a"]])
def test_langchain_and_litellm_see_the_same(url: str, texts: list[str]) -> None:
    options: dict[str, Any] = {"base_url": url, "api_key": SecretStr("none"), "check_embedding_ctx_length": False}
    first = OpenAIEmbeddings(model=MODEL, max_retries=0, **options).embed_documents(texts)
    second = litellm.embedding(model=f"hosted_vllm/{MODEL}", input=texts, api_base=url, api_key="none")
    for one, other in zip(first, second.data, strict=True):
        assert one == pytest.approx(other["embedding"])
