"""/tokenize, /detokenize and /tokenizer_info, with words and with the recorded model's tokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest
from chat_client import JSON, words_config
from wire_harness import MODEL

from mockvllm import profiles
from mockvllm.server.serving_config import serving_config
from mockvllm.server.tokenization import Tokenization
from mockvllm.settings import parse
from mockvllm.settings.derive import derive
from mockvllm.wire.errors import APIError

WORDS = Tokenization(words_config(max_model_len=10))


@pytest.fixture(scope="module")
def recorded(model: Path) -> Tokenization:
    settings = parse([MODEL, "--tokenizer", str(model), "--hf-config-path", str(model)])
    return Tokenization(serving_config(settings, derive(settings), profiles.load("0.33")))


def tokenize(server: Tokenization, **fields: Any) -> Any:
    return json.loads(server.tokenize(json.dumps(fields).encode(), [JSON]))


def detokenize(server: Tokenization, **fields: Any) -> Any:
    return json.loads(server.detokenize(json.dumps(fields).encode(), [JSON]))


def test_a_prompt_may_be_longer_than_the_window() -> None:
    counted = tokenize(WORDS, prompt="a b c " * 9, model="m")
    assert (counted["count"], counted["max_model_len"], len(counted["tokens"])) == (27, 10, 27)
    assert counted["token_strs"] is None
    assert detokenize(WORDS, tokens=counted["tokens"]) == {"prompt": "a b c " * 9}


def test_special_tokens_are_added_to_a_prompt_unless_refused(recorded: Tokenization) -> None:
    with_bos, without = tokenize(recorded, prompt="hola"), tokenize(recorded, prompt="hola", add_special_tokens=False)
    assert with_bos["tokens"] == [6000, *without["tokens"]]
    assert tokenize(recorded, prompt="")["tokens"] == [6000]


def test_messages_are_rendered_and_have_no_special_tokens_added(recorded: Tokenization) -> None:
    messages = [{"role": "user", "content": "hola"}]
    chat = tokenize(recorded, messages=messages, return_token_strs=True)
    assert chat["tokens"].count(6000) == 1
    assert chat["token_strs"][0] == "<|begin_of_text|>"
    assert len(chat["token_strs"]) == chat["count"]
    assert tokenize(recorded, messages=messages, add_special_tokens=True)["tokens"] == [6000, *chat["tokens"]]
    assert tokenize(recorded, messages=messages, add_generation_prompt=False)["count"] < chat["count"]
    longer = [*messages, {"role": "assistant", "content": "buenas"}]
    fields = {"add_generation_prompt": False, "continue_final_message": True}
    assert (
        detokenize(recorded, tokens=tokenize(recorded, messages=longer, **fields)["tokens"])["prompt"][-6:] == "buenas"
    )


def test_tools_reach_the_template_even_if_there_are_none(recorded: Tokenization) -> None:
    messages = [{"role": "user", "content": "hola"}]
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    counts = [tokenize(recorded, messages=messages, tools=tools)["count"] for tools in (None, [], [tool])]
    assert counts[0] < counts[1] < counts[2]


@pytest.mark.parametrize("text", ["añadí 🙂 fin", "  ", "日本語", "a\u0301\n\t"])
def test_what_was_tokenized_comes_back(text: str, recorded: Tokenization) -> None:
    for server in (WORDS, recorded):
        tokens = tokenize(server, prompt=text, add_special_tokens=False)["tokens"]
        assert detokenize(server, tokens=tokens) == {"prompt": text}


def test_tokens_that_nobody_knows_have_no_text(recorded: Tokenization) -> None:
    assert detokenize(recorded, tokens=[6013, 999999, 2**40, 2**63 - 1]) == {"prompt": ""}
    assert detokenize(WORDS, tokens=[2**63 - 1, 5]) == {"prompt": ""}


@pytest.mark.parametrize(
    ("fields", "param", "count"),
    [
        ({}, "body.prompt", 2),
        ({"prompt": 5}, "body.prompt", 2),
        ({"messages": 5}, "body.prompt", 2),
        ({"prompt": 5, "add_special_tokens": "x"}, "body.prompt", 4),
        ({"messages": [], "model": 5}, "body.model", 3),
    ],
)
def test_what_is_neither_form_is_told_what_it_lacks_of_both(fields: dict[str, Any], param: str, count: int) -> None:
    with pytest.raises(APIError) as error:
        tokenize(WORDS, **fields)
    assert (error.value.type, error.value.param) == ("Bad Request", param)
    assert error.value.message.startswith(f"{count} validation errors:")


def test_no_object_is_neither_form_either() -> None:
    for raw, count in ((b"[]", 2), (b"5", 2), (b"", 1), (b"null", 1)):
        with pytest.raises(APIError, match=f"^{count} validation error"):
            WORDS.tokenize(raw, [JSON])
    with pytest.raises(APIError, match="Unsupported Media Type"):
        WORDS.detokenize(b"{}", [])


@pytest.mark.parametrize("profile", ["0.30", "0.32"])
def test_the_model_is_checked(profile: str) -> None:
    server = Tokenization(words_config(profile))
    for ask in (lambda: tokenize(server, model="x", prompt="a"), lambda: detokenize(server, model="x", tokens=[])):
        with pytest.raises(APIError) as error:
            ask()
        assert error.value.status == 404
        assert ("Valid aliases: m." in error.value.message) is (profile != "0.30")


def test_what_needs_trust_is_refused_as_in_chat() -> None:
    messages = [{"role": "user", "content": "hola"}]
    with pytest.raises(APIError, match="untrusted chat template"):
        tokenize(WORDS, messages=messages, chat_template="x")
    with pytest.raises(APIError, match="--trust-request-mm-kwargs"):
        tokenize(WORDS, messages=messages, mm_processor_kwargs={"a": 1})
    with pytest.raises(APIError, match="Cannot set both"):
        tokenize(WORDS, messages=messages, add_generation_prompt=True, continue_final_message=True)


@pytest.mark.parametrize(
    ("tokens", "kind"), [([-1], "greater_than_equal"), ([2**63], "less_than_equal"), (5, "list_type")]
)
def test_tokens_are_numbers_from_zero_on(tokens: Any, kind: str) -> None:
    with pytest.raises(APIError, match=f"'type': '{kind}'"):
        detokenize(WORDS, tokens=tokens)


def test_the_tokenizer_tells_its_settings_and_the_server_s_template(recorded: Tokenization) -> None:
    info = json.loads(recorded.info())
    assert next(iter(info)) == "tokenizer_class"
    assert info["added_tokens_decoder"]["6006"] == "<|eot_id|>"
    assert info["eos_token"] == "<|eot_id|>"
    assert info["name_or_path"] == MODEL
    assert info["chat_template"].startswith("{{- bos_token }}")
    other = Tokenization(words_config(chat_template="own"))
    assert json.loads(other.info())["chat_template"] == "own"
    assert "chat_template" not in json.loads(WORDS.info())
