"""/generative_scoring: how likely the first label is."""

import json
from math import exp
from typing import Any

import pytest
from chat_client import JSON, words_config
from hypothesis import given
from hypothesis import strategies as st
from wire_harness import run

from mockvllm.server.scoring import ScoringServing
from mockvllm.wire.errors import APIError

SERVING = ScoringServing(words_config(max_model_len=10))
OTHER, THIRD = SERVING.config.tokenizer.encode("x y")


def body(**fields: Any) -> bytes:
    return json.dumps({"query": "a", "items": ["b"], "label_token_ids": [OTHER, THIRD], **fields}).encode()


def score(profile_serving: ScoringServing = SERVING, **fields: Any) -> Any:
    return json.loads(run(profile_serving.prepare(body(**fields), [JSON], 0.0)))


def refusal(serving: ScoringServing = SERVING, **fields: Any) -> APIError:
    with pytest.raises(APIError) as error:
        serving.prepare(body(**fields), [JSON], 0.0)
    return error.value


def test_the_body_lists_a_score_an_item() -> None:
    found = score(items=["b", "c d"], request_id="r")
    assert list(found) == ["id", "object", "created", "model", "data", "usage"]
    assert found["id"] == "generative-scoring-r"
    assert [(entry["index"], entry["object"]) for entry in found["data"]] == [(0, "score"), (1, "score")]
    assert found["usage"] == {
        "prompt_tokens": 2 + 3,
        "total_tokens": 7,
        "completion_tokens": 2,
        "prompt_tokens_details": None,
        "completion_tokens_details": None,
    }


@given(labels=st.lists(st.integers(0, 50), min_size=1, max_size=8, unique=True))
def test_scores_are_shares_of_the_labels_or_of_everything(labels: list[int]) -> None:
    found = {label: -1.5 - 0.5 * place for place, label in enumerate(labels)}
    share = score(label_token_ids=labels)["data"][0]["score"]
    assert share == pytest.approx(exp(found[labels[0]]) / sum(exp(logprob) for logprob in found.values()))
    assert score(label_token_ids=labels, apply_softmax=False)["data"][0]["score"] == pytest.approx(exp(-1.5))


def test_one_label_has_all_of_itself() -> None:
    assert (
        score(label_token_ids=[OTHER])["data"][0]["score"]
        == score(label_token_ids=[OTHER] * 3)["data"][0]["score"]
        == 1
    )


@pytest.mark.parametrize(("item_first", "tokens"), [(False, [1, 2, 7, 8]), (True, [7, 8, 1, 2])])
def test_items_stand_behind_the_query_or_before_it(item_first: bool, tokens: list[int]) -> None:
    prepared = SERVING.prepare(body(query=[1, 2], items=[[7, 8]], item_first=item_first), [JSON], 0.0)
    assert prepared.choices[0].prompt_token_ids == tokens
    assert prepared.choices[0].max_tokens == 1


def test_what_leaves_no_room_for_a_token_is_cut_off() -> None:
    prepared = SERVING.prepare(body(query=[1] * 6, items=[[2] * 6]), [JSON], 0.0)
    assert prepared.choices[0].prompt_token_ids == [1] * 6 + [2] * 3


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "x"}, "The model `x` does not exist."),
        ({"label_token_ids": []}, "label_token_ids must contain at least one token ID."),
        ({"label_token_ids": [1, -1]}, "label_token_id -1 is out of vocabulary range [0, 2147483648)."),
        ({"items": []}, "items must contain at least one item."),
        ({"items": [[]], "query": []}, "The decoder prompt cannot be empty"),
        ({"label_token_ids": list(range(21))}, "Requested sample logprobs of 21"),
        ({"items": ["a", [1]]}, "2 validation errors:"),
        ({"query": None, "items": None}, "4 validation errors:"),
        ({"cache_salt": ""}, "Parameter 'cache_salt' must be a non-empty string"),
    ],
)
def test_refusals(fields: dict[str, Any], message: str) -> None:
    assert refusal(**fields).message.startswith(message)


def test_0_30_leaves_the_words_to_pydantic() -> None:
    error = refusal(ScoringServing(words_config("0.30")), label_token_ids="x")
    assert error.message.startswith("1 validation error for GenerativeScoringRequest\nlabel_token_ids\n  Input should")
    assert (error.type, error.param) == ("BadRequestError", None)
