from typing import Any

import pytest
from chat_client import prepare, stream, whole, words

SERVING = words(answer="repeat")


def entries(**fields: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = whole(SERVING, logprobs=True, **fields)["choices"][0]["logprobs"]["content"]
    return found


@pytest.mark.parametrize("top", [0, 1, 3])
def test_an_entry_lists_as_many_candidates_as_asked_for(top: int) -> None:
    first, second = entries(max_tokens=2, top_logprobs=top)
    assert (first["token"], first["logprob"], first["bytes"]) == ("Tu", -0.25, [84, 117])
    candidates = [("Tu", -0.25), (" Tu", -1.5), (" pedido", -2.0)][:top]
    assert [(entry["token"], entry["logprob"]) for entry in first["top_logprobs"]] == candidates
    assert [entry["token"] for entry in second["top_logprobs"]] == [" pedido", " sale", " mañana"][:top]
    assert all(entry["bytes"] == list(entry["token"].encode()) for entry in first["top_logprobs"])


def test_named_tokens_are_all_listed() -> None:
    tokenizer = SERVING.config.tokenizer
    ids = [*tokenizer.encode(" llega"), *tokenizer.encode(" y")]
    (entry,) = entries(max_tokens=1, logprob_token_ids=ids)
    assert [top["token"] for top in entry["top_logprobs"]] == ["Tu", " llega", " y"]


@pytest.mark.parametrize(("flag", "field", "shown"), [(True, None, True), (True, False, False), (False, True, True)])
def test_tokens_may_be_shown_as_ids(flag: bool, field: bool | None, shown: bool) -> None:
    serving = words(return_tokens_as_token_ids=flag)
    options = {} if field is None else {"return_tokens_as_token_ids": field}
    body = whole(serving, logprobs=True, top_logprobs=1, max_tokens=1, **options)
    (entry,) = body["choices"][0]["logprobs"]["content"]
    name = f"token_id:{serving.config.tokenizer.encode('Tu')[0]}" if shown else "Tu"
    assert entry["token"] == entry["top_logprobs"][0]["token"] == name
    assert entry["bytes"] == [84, 117]
    assert entry["top_logprobs"][0]["bytes"] == list(name.encode())


def test_prompt_tokens_have_theirs_but_not_in_a_stream() -> None:
    messages = [{"role": "user", "content": "uno dos"}]
    (dos,) = SERVING.config.tokenizer.encode(" dos")
    body = whole(SERVING, messages=messages, prompt_logprobs=1, max_tokens=1)
    assert body["prompt_logprobs"] == [None, {str(dos): {"logprob": -0.5, "rank": 1, "decoded_token": " dos"}}]
    assert all("prompt_logprobs" not in chunk for chunk in stream(SERVING, prompt_logprobs=0, max_tokens=1)[:-1])


def test_echo_asks_for_the_prompt_s_too() -> None:
    body = whole(SERVING, echo=True, logprobs=True, top_logprobs=2, max_tokens=1)
    assert len(body["prompt_logprobs"]) == body["usage"]["prompt_tokens"]
    assert prepare(SERVING, echo=True, logprobs=True, top_logprobs=2).choices[0].skip_reading_prefix_cache


@pytest.mark.parametrize(("profile", "given"), [("0.30", False), ("0.32", True), ("0.33", True)])
def test_no_number_of_candidates_is_none_since_0_32_and_nothing_before(profile: str, given: bool) -> None:
    body = whole(words(profile), logprobs=True, top_logprobs=None, max_tokens=1)
    assert (body["choices"][0]["logprobs"] is not None) is given
