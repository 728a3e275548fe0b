"""What flags, tokenizer directories, templates and generation configs make of the endpoints."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from chat_client import HOLA, JSON

from mockvllm import profiles
from mockvllm.answers.chat_template import ChatTemplate
from mockvllm.answers.hf_tokenizer import HFTokenizer
from mockvllm.answers.prompt import NoRenderer, PlainRenderer, Rendering
from mockvllm.answers.tokenizer import WordTokenizer
from mockvllm.server.chat import ChatServing
from mockvllm.server.serving_config import serving_config
from mockvllm.server.serving_options import ServingConfig
from mockvllm.settings import SettingsError, parse
from mockvllm.settings.derive import derive


def config(*flags: str) -> ServingConfig:
    settings = parse(["/models/m", *flags])
    return serving_config(settings, derive(settings), profiles.load(settings.profile))


def refusal(*flags: str) -> str:
    with pytest.raises(SettingsError) as error:
        config(*flags)
    return str(error.value)


def test_without_files_tokens_are_words() -> None:
    made = config()
    assert isinstance(made.tokenizer, WordTokenizer)
    assert isinstance(made.renderer, PlainRenderer)
    assert (made.default_sampling, made.override_max_tokens, made.max_model_len) == ({}, None, 8192)


def test_a_tokenizer_brings_its_template_and_its_end_tokens(model: Path) -> None:
    made = config("--tokenizer", str(model))
    assert isinstance(made.tokenizer, HFTokenizer)
    assert made.renderer.render([{"role": "user", "content": "x"}], Rendering()).startswith("<|begin_of_text|>")
    (request,) = ChatServing(made).prepare(json.dumps({"messages": HOLA}).encode(), [JSON], 0.0).choices
    assert (request.eos_token_id, list(request.stop_token_ids)) == (6006, [6001, 6005])


def test_the_vocabulary_s_size_is_that_of_the_config_directory(model: Path, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 9999}')
    made = config("--tokenizer", str(model), "--hf-config-path", str(tmp_path))
    assert made.tokenizer.vocab_size == 9999


@pytest.mark.parametrize("inline", [True, False])
def test_a_template_is_given_as_file_or_as_it_is(inline: bool, tmp_path: Path) -> None:
    source = "{{ messages[0].content }}!"
    (tmp_path / "t.jinja").write_text(source)
    made = config("--chat-template", source if inline else str(tmp_path / "t.jinja"))
    assert isinstance(made.renderer, ChatTemplate)
    assert made.renderer.render([{"role": "user", "content": "hola"}], Rendering()) == "hola!"


def test_a_tokenizer_without_a_template_renders_nothing(model: Path) -> None:
    content = json.loads((model / "tokenizer_config.json").read_text())
    del content["chat_template"]
    bare = model.parent / "bare"
    bare.mkdir()
    for file in model.iterdir():
        (bare / file.name).write_bytes(file.read_bytes())
    (bare / "tokenizer_config.json").write_text(json.dumps(content))
    assert isinstance(config("--tokenizer", str(bare)).renderer, NoRenderer)


def test_a_request_may_bring_a_template_where_that_is_trusted() -> None:
    serving = ChatServing(config("--trust-request-chat-template"))
    body = {"messages": HOLA, "chat_template": "uno dos {{ messages[0].content }}"}
    assert serving.prepare(json.dumps(body).encode(), [JSON], 0.0).answer.num_prompt_tokens == 3


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (("--tokenizer", "/nowhere"), "--tokenizer /nowhere: no tokenizer.json in /nowhere"),
        (("--chat-template", "/nowhere.jinja"), "--chat-template /nowhere.jinja: "),
        (("--chat-template", "{{ x"), "--chat-template: unexpected end of template"),
        (("--generation-config", "/nowhere"), "--generation-config /nowhere: no generation_config.json there"),
    ],
)
def test_what_cannot_be_read_names_its_flag(flags: tuple[str, ...], message: str) -> None:
    assert refusal(*flags).startswith(message)


@pytest.mark.parametrize(
    ("profile", "flags", "defaults", "override"),
    [
        ("0.33", (), {"temperature": 0.1, "presence_penalty": 1.0, "max_tokens": 7, "skip_special_tokens": False}, 7),
        ("0.32", (), {"temperature": 0.1, "presence_penalty": 1.0, "max_tokens": 7}, 7),
        ("0.30", (), {"temperature": 0.1, "max_tokens": 7}, 7),
        ("0.30", ("--override-generation-config", '{"temperature": 0.2}'), {"temperature": 0.2, "max_tokens": 7}, 7),
    ],
)
def test_a_generation_config_gives_the_defaults_its_release_reads(
    profile: str, flags: tuple[str, ...], defaults: dict[str, Any], override: int, tmp_path: Path
) -> None:
    content = {"temperature": 0.1, "presence_penalty": 1.0, "max_new_tokens": 7, "skip_special_tokens": False, "x": 1}
    (tmp_path / "generation_config.json").write_text(json.dumps(content))
    made = config("--profile", profile, "--generation-config", str(tmp_path), *flags)
    assert (made.default_sampling, made.override_max_tokens) == (defaults, override)


def test_overrides_alone_cap_too() -> None:
    made = config("--override-generation-config", '{"max_new_tokens": 5, "top_k": 3}')
    assert (made.default_sampling, made.override_max_tokens) == ({"max_tokens": 5, "top_k": 3}, 5)


@pytest.mark.parametrize(
    ("flags", "pattern"),
    [
        ((), r"vllm-0\.33\.0-[0-9a-f]{8}"),
        (("-tp", "2", "--profile", "0.30"), r"vllm-0\.30\.0-tp2-[0-9a-f]{8}"),
        (("--fingerprint-mode", "hash"), "[0-9a-f]{8}"),
        (("--fingerprint-mode", "custom", "--fingerprint-value", "mía"), "mía"),
    ],
)
def test_fingerprints(flags: tuple[str, ...], pattern: str) -> None:

    assert re.fullmatch(pattern, config(*flags).system_fingerprint or "")


def test_the_fingerprint_is_that_of_the_engine_s_options() -> None:
    usual = config().system_fingerprint
    assert config("--fingerprint-mode", "none").system_fingerprint is None
    assert config("--port", "1234", "--answer", "repeat").system_fingerprint == usual
    assert config("--max-num-seqs", "7").system_fingerprint != usual
