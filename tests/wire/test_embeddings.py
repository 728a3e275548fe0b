"""/v1/embeddings of a pooling model: inputs, forms of the vectors, dimensions, refusals."""

import base64
import json
import struct
from math import isclose, sqrt
from typing import Any

import pytest
from chat_client import JSON, words_config
from hypothesis import given
from hypothesis import strategies as st
from wire_harness import run

from mockvllm.answers.embedding import embedding, normalized
from mockvllm.server.embeddings import DEFAULT_SIZE, EmbeddingServing, dimensions_of, embeds
from mockvllm.settings import SettingsError, parse
from mockvllm.wire.embeddings_response import Dimensions
from mockvllm.wire.errors import APIError

SIZE = 48


def serving(profile: str = "0.33", dimensions: Dimensions | None = None, **config: Any) -> EmbeddingServing:
    return EmbeddingServing(words_config(profile, **config), dimensions or Dimensions(SIZE))


SERVING = serving()
MODEL = SERVING.config.model_names[0]


def ask(where: EmbeddingServing = SERVING, **fields: Any) -> dict[str, Any]:
    body = json.dumps({"request_id": "r", **fields}).encode()
    answer: dict[str, Any] = json.loads(run(where.prepare(body, [JSON], 0.0), where.config.max_model_len))
    return answer


def refusal(where: EmbeddingServing = SERVING, **fields: Any) -> APIError:
    with pytest.raises(APIError) as raised:
        ask(where, **fields)
    return raised.value


def vectors(where: EmbeddingServing = SERVING, **fields: Any) -> list[Any]:
    return [entry["embedding"] for entry in ask(where, **fields)["data"]]


def cosine(one: list[float], other: list[float]) -> float:
    return sum(a * b for a, b in zip(normalized(one), normalized(other), strict=True))


def test_a_whole_answer() -> None:
    answer = ask(input=["uno dos", "tres"])
    assert [list(entry) for entry in answer["data"]] == [["index", "object", "embedding"]] * 2
    assert [(entry["index"], entry["object"], len(entry["embedding"])) for entry in answer.pop("data")] == [
        (0, "embedding", SIZE),
        (1, "embedding", SIZE),
    ]
    created = answer.pop("created")
    assert isinstance(created, int)
    assert answer == {
        "id": "embd-r",
        "object": "list",
        "model": MODEL,
        "usage": {
            "prompt_tokens": 3,
            "total_tokens": 3,
            "completion_tokens": 0,
            "prompt_tokens_details": None,
            "completion_tokens_details": None,
        },
    }


def test_every_form_of_an_input_gives_the_same_vector() -> None:
    ids = list(SERVING.config.tokenizer.encode("uno dos"))
    (expected,) = vectors(input="uno dos")
    for given_as in (["uno dos"], ids, [ids]):
        assert vectors(input=given_as) == [expected]
    assert vectors(input=[ids, ids[:1]])[1] == vectors(input="uno")[0] != expected


def test_conversations() -> None:
    turn = [{"role": "user", "content": "uno dos"}]
    (one,) = vectors(messages=turn)
    assert vectors(messages=[turn, turn]) == [one, one]
    assert vectors(input=turn) == [one]
    assert ask(messages=[turn, turn])["usage"]["prompt_tokens"] == 4


def test_vectors_have_length_one_unless_told_otherwise() -> None:
    (usual,), (raw,) = vectors(input="uno dos tres"), vectors(input="uno dos tres", use_activation=False)
    assert isclose(sum(value * value for value in usual), 1, rel_tol=1e-5)
    assert not isclose(sum(value * value for value in raw), 1, rel_tol=0.1)
    assert isclose(cosine(usual, raw), 1, rel_tol=1e-5)


@pytest.mark.parametrize(
    ("dtype", "endianness", "code", "tolerance"),
    [("float32", "native", "=f", 0), ("float32", "big", ">f", 0), ("float16", "little", "<e", 1e-3)],
)
def test_base64(dtype: str, endianness: str, code: str, tolerance: float) -> None:
    (floats,) = vectors(input="uno dos")
    (text,) = vectors(input="uno dos", encoding_format="base64", embed_dtype=dtype, endianness=endianness)
    assert [value for (value,) in struct.iter_unpack(code, base64.b64decode(text))] == pytest.approx(
        floats, abs=tolerance
    )


def test_bfloat16_is_the_upper_half_of_a_float32() -> None:
    (floats,) = vectors(input="uno dos")
    (text,) = vectors(input="uno dos", encoding_format="base64", embed_dtype="bfloat16", endianness="big")
    halves = base64.b64decode(text)
    widened = b"".join(halves[at : at + 2] + b"\0\0" for at in range(0, len(halves), 2))
    assert list(struct.unpack(f">{SIZE}f", widened)) == pytest.approx(floats, rel=2**-8)


@pytest.mark.parametrize(
    "field", [{"encoding_format": "bytes"}, {"encoding_format": "base64", "embed_dtype": "fp8_e4m3"}]
)
def test_what_is_not_modelled_says_so(field: dict[str, str]) -> None:
    error = refusal(input="uno", **field)
    assert (error.status, error.type) == (501, "NotImplementedError")
    assert list(field.values())[-1] in error.message


def test_dimensions_are_a_matryoshka_model_s() -> None:
    wanted = "does not support Matryoshka embeddings; dimensions must be unset (received dimensions=8)."
    assert refusal(input="uno", dimensions=8).message == f"Model '{MODEL}' {wanted}"
    nested = serving(dimensions=Dimensions(SIZE, is_matryoshka=True))
    (whole,), (part,) = vectors(nested, input="uno dos"), vectors(nested, input="uno dos", dimensions=8)
    assert part == pytest.approx(normalized(whole[:8]), rel=1e-5)
    for wrong in (0, SIZE + 1):
        message = f"Model '{MODEL}' only supports dimensions in range [1, {SIZE}], got {wrong}."
        assert refusal(nested, input="uno", dimensions=wrong).message == message
    listed = serving(dimensions=Dimensions(SIZE, is_matryoshka=True, listed=[8, 16]))
    assert len(vectors(listed, input="uno", dimensions=16)[0]) == 16
    assert refusal(listed, input="uno", dimensions=9).message.endswith("Matryoshka dimensions [8, 16], got 9.")


@pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
def test_the_whole_window_is_the_prompt_s(profile: str) -> None:
    small = serving(profile, max_model_len=4)
    assert ask(small, input="a b c d")["usage"]["total_tokens"] == 4
    error = refusal(small, input="a b c d e")
    assert "maximum context length is 4 tokens" in error.message
    assert "output tokens and your prompt" not in error.message
    assert ask(small, input="a b c d e", truncate_prompt_tokens=-1)["usage"]["total_tokens"] == 4
    right = vectors(small, input="a b c d e", truncate_prompt_tokens=2, truncation_side="right")
    assert right == vectors(small, input="a b")


def test_refusals() -> None:
    assert refusal(input="uno", model="nobody").status == 404
    removed = refusal(input="uno", normalize=True)
    assert removed.message == "Parameter `normalize` was removed; use `use_activation` instead. (parameter=normalize)"
    neither = refusal()
    assert (neither.status, neither.type) == (400, "Bad Request")
    assert "body.input" in neither.message
    assert "body.messages" in neither.message
    assert refusal(input=[]).message == "You must pass at least one prompt"
    assert refusal(input=[2**40]).status == 400
    assert refusal(input="uno", encoding_format="hex").type == "Bad Request"


@given(st.lists(st.integers(0, 2**31), min_size=1, max_size=40), st.integers(1, 600), st.integers(0, 9))
def test_vectors_depend_on_tokens_size_and_seed_alone(token_ids: list[int], size: int, seed: int) -> None:
    vector = embedding(token_ids, size, seed)
    assert len(vector) == size
    assert vector == embedding(tuple(token_ids), size, seed)
    assert sqrt(sum(value * value for value in normalized(vector))) == pytest.approx(1)
    assert embedding(token_ids, 600, seed) != embedding(token_ids, 600, seed + 1)


def test_texts_that_share_words_are_near_each_other() -> None:
    same, other_order, near, far = (
        embedding(ids, DEFAULT_SIZE) for ids in ([1, 2, 3, 4], [4, 3, 2, 1], [1, 2, 3, 5], [6, 7, 8, 9])
    )
    assert 0.9 < cosine(same, other_order) < 1
    assert cosine(same, other_order) > cosine(same, near) > 0.5 > 0.3 > abs(cosine(same, far))


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), False),
        (("--runner", "generate", "--convert", "embed"), False),
        (("--runner", "pooling", "--convert", "classify"), False),
        (("--runner", "pooling"), True),
        (("--convert", "embed"), True),
    ],
)
def test_which_server_embeds(flags: tuple[str, ...], expected: bool) -> None:
    assert embeds(parse(list(flags))) is expected


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        ({}, Dimensions(DEFAULT_SIZE, False, [])),
        ({"hidden_size": 384}, Dimensions(384, False, [])),
        ({"text_config": {"hidden_size": 96}}, Dimensions(96, False, [])),
        ({"is_matryoshka": True}, Dimensions(DEFAULT_SIZE, True, [])),
        ({"hidden_size": 64, "matryoshka_dimensions": [16, 32]}, Dimensions(64, True, [16, 32])),
    ],
)
def test_the_model_s_config_has_the_dimensions(overrides: dict[str, Any], expected: Dimensions) -> None:
    assert dimensions_of(parse(["--hf-overrides", json.dumps(overrides)])) == expected


def test_a_wrong_size_is_told() -> None:
    with pytest.raises(SettingsError, match="hidden_size must be a positive whole number, not -1"):
        dimensions_of(parse(["--hf-overrides", '{"hidden_size": -1}']))
