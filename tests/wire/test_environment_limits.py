"""The limits of requests that vLLM reads from its environment."""

import json
from typing import Any

import api_client
import chat_client
import completion_client
import pytest
from chat_client import words

from mockvllm import profiles
from mockvllm.server.batch import BatchServing
from mockvllm.server.serving_config import serving_config
from mockvllm.server.tokenization import Tokenization
from mockvllm.settings import Environment, parse
from mockvllm.settings.derive import derive
from mockvllm.wire.errors import APIError

FIVE = ["a", "b", "c", "d", "e"]
JSON = [(b"content-type", b"application/json")]


def test_each_variable_sets_its_limit() -> None:
    settings = parse(["/models/m"])
    environ = {
        "VLLM_MAX_N_SEQUENCES": "3",
        "VLLM_MAX_COMPLETION_PROMPTS": "5",
        "VLLM_MAX_STOP_STRINGS": "7",
        "VLLM_MAX_NUM_BAD_WORDS": "9",
        "VLLM_SKIP_MODEL_NAME_VALIDATION": "1",
    }
    made = serving_config(settings, derive(settings), profiles.load("0.33"), Environment.read(environ))
    assert (made.max_n_sequences, made.max_completion_prompts) == (3, 5)
    assert (made.max_stop_strings, made.max_num_bad_words, made.skip_model_name_validation) == (7, 9, True)


@pytest.mark.parametrize("most", [1, 3])
def test_so_many_sequences(most: int) -> None:
    serving = words(max_n_sequences=most)
    assert len(chat_client.whole(serving, n=most)["choices"]) == most
    for beams, name in ((False, "n"), (True, "beam_width")):
        error = chat_client.refusal(serving, n=most + 1, use_beam_search=beams)
        assert error.message == (
            f"{name} must be at most {most}, got {most + 1}. "
            "To increase this limit, set the VLLM_MAX_N_SEQUENCES environment variable."
        )


@pytest.mark.parametrize("most", [0, 1, 6])
def test_so_many_stop_strings_everywhere(most: int) -> None:
    many = [f"s{n}" for n in range(most + 1)]
    config = api_client.config(max_stop_strings=most)
    servings: list[tuple[Any, Any, str]] = [
        (words(max_stop_strings=most), chat_client, "stop"),
        (completion_client.completions(max_stop_strings=most), completion_client, "stop"),
        (api_client.responses_api(max_stop_strings=most), api_client, "stop"),
        (api_client.messages_api(max_stop_strings=most), api_client, "stop_sequences"),
    ]
    for serving, client, field in servings:
        error = client.refusal(serving, **{field: many})
        assert f"at most {most} item" in error.message and f"not {most + 1}" in error.message
        assert client.prepare(serving, **{field: many[:most]}).choices
    batch = {"messages": [chat_client.HOLA], "stop": many}
    with pytest.raises(APIError, match=f"at most {most} item"):
        BatchServing(config).prepare(json.dumps(batch).encode(), JSON, 0.0)


def test_more_stop_strings_still_stop() -> None:
    serving = api_client.messages_api(max_stop_strings=5)
    assert api_client.whole(serving, stop_sequences=[*FIVE[1:], "mañana"])["stop_sequence"] == "e"


def test_so_many_bad_words() -> None:
    """A word counts for both of its token sequences, and once however often it is sent."""
    serving = words(max_num_bad_words=3)
    said = chat_client.whole(serving, bad_words=["pedido", "pedido"], max_tokens=2)
    assert "pedido" not in said["choices"][0]["message"]["content"]
    assert chat_client.refusal(serving, bad_words=["a", "b", "a"]).message == (
        "Too many bad words after tokenization: 4. The max number is 3. (parameter=bad_words, value=['a', 'b'])"
    )
    assert chat_client.prepare(serving, bad_words=["a", "b"], stream=True).failure is not None
    blank = chat_client.refusal(serving, bad_words=[" "])
    assert blank.message.startswith("bad_words entries must tokenize to at least one token.")


def test_bad_words_are_the_engine_s_last_complaint() -> None:
    serving = completion_client.completions(max_num_bad_words=1)
    error = completion_client.refusal(serving, prompt=[2**31], bad_words=["a", "b"])
    assert error.message == f"Token id {2**31} is out of vocabulary"


def test_any_name_of_a_model() -> None:
    assert chat_client.refusal(words(), model="otro").status == 404
    config = api_client.config(skip_model_name_validation=True)
    assert chat_client.whole(words(skip_model_name_validation=True), model="otro")["model"] == "m"
    assert json.loads(Tokenization(config).tokenize(b'{"model": "otro", "prompt": "uno dos"}', JSON))["count"] == 2
