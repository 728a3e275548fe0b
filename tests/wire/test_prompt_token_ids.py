"""`kv_transfer_params.prompt_token_ids`: a chat's prompt as the prefill server tokenized it (0.32 on)."""

from typing import Any

import pytest
from chat_client import HOLA, prepare, refusal, whole, words

MESSAGE = (
    "`kv_transfer_params['prompt_token_ids']` must be a non-empty list of non-negative integers. "
    "(parameter=kv_transfer_params.prompt_token_ids)"
)


def params(token_ids: Any) -> dict[str, Any]:
    return {"prompt_token_ids": token_ids}


@pytest.mark.parametrize("release", ["0.32", "0.33"])
def test_they_are_the_prompt(release: str) -> None:
    serving = words(release)
    token_ids = list(serving.config.tokenizer.encode("uno dos tres"))
    prepared = prepare(serving, kv_transfer_params=params(token_ids), max_tokens=1)
    assert list(prepared.choices[0].prompt_token_ids) == token_ids
    shown = whole(
        serving, kv_transfer_params=params(token_ids), max_tokens=1, return_token_ids=True, return_prompt_text=True
    )
    assert (shown["prompt_token_ids"], shown["prompt_text"]) == (token_ids, "uno dos tres")
    assert shown["usage"]["prompt_tokens"] == 3


@pytest.mark.parametrize("token_ids", [[], [-1], [1, "2"], [1.0], [True], "1,2", {"a": 1}, 5])
@pytest.mark.parametrize("stream", [False, True])
def test_what_is_none_is_refused(token_ids: Any, stream: bool) -> None:
    for release in ("0.32", "0.33"):
        error = refusal(words(release), kv_transfer_params=params(token_ids), stream=stream)
        assert (error.status, error.type, error.param) == (
            400,
            "BadRequestError",
            "kv_transfer_params.prompt_token_ids",
        )
        assert error.message == MESSAGE


@pytest.mark.parametrize("given", [params(None), {}, None])
def test_without_any_the_messages_are_rendered(given: Any) -> None:
    assert whole(words(), kv_transfer_params=given, max_tokens=1)["usage"]["prompt_tokens"] == 1


@pytest.mark.parametrize("token_ids", [[], "x", [1, 2, 3]])
def test_0_30_does_not_know_them(token_ids: Any) -> None:
    assert whole(words("0.30"), kv_transfer_params=params(token_ids), max_tokens=1)["usage"]["prompt_tokens"] == 1


def test_the_messages_still_say_who_speaks_and_what_but_nothing_is_echoed() -> None:
    said = [{"role": "user", "content": "[[say]]dicho[[/say]]"}]
    answer = whole(words(), messages=said, kv_transfer_params=params([5, 6]))
    assert answer["choices"][0]["message"]["content"] == "dicho"
    echoed = whole(
        words(), messages=HOLA, kv_transfer_params=params([5]), echo=True, add_generation_prompt=False, max_tokens=1
    )
    assert echoed["choices"][0]["message"]["role"] == "user"
    assert echoed["choices"][0]["message"]["content"] == "Tu"


def test_they_have_to_fit_the_window_and_the_vocabulary() -> None:
    small = words(max_model_len=4)
    assert refusal(small, kv_transfer_params=params([1, 2, 3, 4, 5])).status == 400
    size = words().config.tokenizer.vocab_size
    error = refusal(words(), kv_transfer_params=params([1, size]))
    assert error.message == f"Token id {size} is out of vocabulary"
