"""From settings to what the generation endpoints need: tokenizer, chat template, defaults of sampling, fingerprint."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from mockvllm.answers.prompt import NoRenderer, PlainRenderer, Renderer
from mockvllm.answers.tokenizer import Tokenizer, WordTokenizer
from mockvllm.profiles import Profile
from mockvllm.server.serving_options import ServingConfig
from mockvllm.settings import Environment, Settings, SettingsError, kv_transfer
from mockvllm.settings.derive import Derived
from mockvllm.settings.frontend import Frontend, Options
from mockvllm.settings.mock import Mock
from mockvllm.settings.record import GROUPS, knobs
from mockvllm.wire.usage import UsageRules

_SAMPLING_KEYS = {
    "repetition_penalty": "repetition_penalty",
    "presence_penalty": "presence_penalty",
    "frequency_penalty": "frequency_penalty",
    "temperature": "temperature",
    "top_k": "top_k",
    "top_p": "top_p",
    "min_p": "min_p",
    "max_new_tokens": "max_tokens",
    "skip_special_tokens": "skip_special_tokens",
}
"""Keys of a generation_config.json, and the sampling parameters they are defaults of."""
_NOT_THE_ENGINE = (Mock, Options, Frontend)
VLLM_S_OWN = Environment()


def serving_config(
    settings: Settings, derived: Derived, profile: Profile, environment: Environment = VLLM_S_OWN
) -> ServingConfig:
    """Raises SettingsError for a tokenizer, template or generation config that cannot be read."""
    tokenizer, special_tokens, own_template = _tokenizer(settings)
    template = _template_source(settings.chat_template) if settings.chat_template else own_template
    defaults = _default_sampling(settings, profile)
    return ServingConfig(
        model=settings.model,
        model_names=settings.model_names,
        wire=profile.wire,
        tokenizer=tokenizer,
        renderer=_renderer(settings, special_tokens, template),
        request_template=_template_maker(special_tokens),
        chat_template=template,
        max_model_len=derived.max_model_len,
        max_logprobs=settings.max_logprobs,
        response_role=settings.response_role,
        default_sampling=defaults,
        override_max_tokens=_override_max_tokens(settings, defaults),
        default_chat_template_kwargs=settings.default_chat_template_kwargs or {},
        return_tokens_as_token_ids=settings.return_tokens_as_token_ids,
        enable_force_include_usage=settings.enable_force_include_usage,
        stream_interval=settings.stream_interval,
        trust_request_chat_template=settings.trust_request_chat_template,
        trust_request_mm_kwargs=settings.trust_request_mm_kwargs,
        tool_call_parser=settings.tool_call_parser if settings.enable_auto_tool_choice else None,
        tool_strict_level=settings.tool_strict_level,
        exclude_tools_when_tool_choice_none=settings.exclude_tools_when_tool_choice_none,
        reasoning_parser=settings.reasoning_parser,
        has_reasoning_config=_has_reasoning_config(settings),
        disabled_thinking_effort=settings.anthropic_disabled_thinking_effort,
        any_whitespace=not settings.structured_outputs_config.get("disable_any_whitespace", False),
        data_parallel_size=settings.data_parallel_size,
        transfers_kv=kv_transfer.parse(settings.kv_transfer_config).active,
        skip_model_name_validation=environment.VLLM_SKIP_MODEL_NAME_VALIDATION,
        max_n_sequences=environment.VLLM_MAX_N_SEQUENCES,
        max_completion_prompts=environment.VLLM_MAX_COMPLETION_PROMPTS,
        max_stop_strings=environment.VLLM_MAX_STOP_STRINGS,
        max_num_bad_words=environment.VLLM_MAX_NUM_BAD_WORDS,
        usage=UsageRules(
            settings.enable_prompt_tokens_details, settings.enable_per_request_metrics, derived.block_size
        ),
        system_fingerprint=_fingerprint(settings, profile),
        answer=settings.answer,
        seed=settings.seed,
        directives=settings.directives,
    )


def _tokenizer(settings: Settings) -> tuple[Tokenizer, Mapping[str, str], str | None]:
    """The tokenizer, its special tokens by role, and the chat template that came with it."""
    if settings.tokenizer is None:
        return WordTokenizer(), {}, None
    try:
        from mockvllm.answers.hf_tokenizer import HFTokenizer

        tokenizer = HFTokenizer(Path(settings.tokenizer), _config_directory(settings))
    except ImportError:
        message = "--tokenizer: needs the packages tokenizers and jinja2: pip install 'mockvllm[tokenizer]'"
        raise SettingsError(message) from None
    except (OSError, ValueError) as error:
        raise SettingsError(f"--tokenizer {settings.tokenizer}: {error}") from None
    return tokenizer, tokenizer.special_tokens, tokenizer.chat_template


def _config_directory(settings: Settings) -> Path | None:
    return Path(settings.hf_config_path) if settings.hf_config_path else None


def _renderer(settings: Settings, special_tokens: Mapping[str, str], source: str | None) -> Renderer:
    if source is None:
        return PlainRenderer() if settings.tokenizer is None else NoRenderer()
    try:
        return _template_maker(special_tokens)(source)
    except ImportError:
        raise SettingsError("--chat-template: needs the package jinja2: pip install 'mockvllm[tokenizer]'") from None
    except ValueError as error:
        raise SettingsError(f"--chat-template: {error}") from None


def _template_source(flag: str) -> str:
    """`--chat-template` is a file or, when it looks like Jinja, the template itself."""
    path = Path(flag)
    try:
        return path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if any(mark in flag for mark in "{}\n"):
            return flag
        raise SettingsError(f"--chat-template {flag}: {error}") from None


def _template_maker(special_tokens: Mapping[str, str]) -> Callable[[str], Renderer]:
    def make(source: str) -> Renderer:
        from mockvllm.answers.chat_template import ChatTemplate

        return ChatTemplate(source, special_tokens)

    return make


def _default_sampling(settings: Settings, profile: Profile) -> dict[str, Any]:
    """The generation config's values, over them those of --override-generation-config."""
    found = {**_generation_config(settings), **settings.override_generation_config}
    ignored: tuple[str, ...] = ()
    if not profile.wire.generation_config_penalties:
        ignored += ("presence_penalty", "frequency_penalty")
    if not profile.wire.generation_config_skip_special_tokens:
        ignored += ("skip_special_tokens",)
    return {
        name: found[key] for key, name in _SAMPLING_KEYS.items() if found.get(key) is not None and key not in ignored
    }


def _generation_config(settings: Settings) -> Mapping[str, Any]:
    source = settings.generation_config
    if source == "vllm":
        return {}
    path = Path(settings.model if source == "auto" else source) / "generation_config.json"
    if not path.is_file():
        if source == "auto":
            return {}
        raise SettingsError(f"--generation-config {source}: no generation_config.json there")
    try:
        content: Mapping[str, Any] = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise SettingsError(f"--generation-config {source}: {error}") from None
    return content


def _override_max_tokens(settings: Settings, defaults: Mapping[str, Any]) -> int | None:
    """A cap for all requests: the max_new_tokens of a directory that was named, or of --override-generation-config."""
    if settings.generation_config not in ("auto", "vllm"):
        return defaults.get("max_tokens")
    return settings.override_generation_config.get("max_new_tokens")


def _has_reasoning_config(settings: Settings) -> bool:
    """Whether the flag says what reasoning begins and ends with: by a parser's name, or in words."""
    config = settings.reasoning_config or {}
    said = all(config.get(name) for name in ("reasoning_start_str", "reasoning_end_str"))
    return bool(said or config.get("reasoning_parser"))


def _fingerprint(settings: Settings, profile: Profile) -> str | None:
    """Which server this is: the release, its parallel sizes, and a hash of the engine's options."""
    mode = settings.fingerprint_mode
    if mode in ("none", "custom"):
        return settings.fingerprint_value if mode == "custom" else None
    digest = _digest(settings)
    if mode == "hash":
        return digest
    sizes = {
        "tp": settings.tensor_parallel_size,
        "pp": settings.pipeline_parallel_size,
        "dp": settings.data_parallel_size,
    }
    parts = [f"{name}{size}" for name, size in sizes.items() if size > 1]
    parts += ["ep"] if settings.enable_expert_parallel else []
    return "-".join(("vllm", profile.version, *parts, digest))


def _digest(settings: Settings) -> str:
    options = [knob.name for group in GROUPS if group not in _NOT_THE_ENGINE for knob in knobs(group)]
    values = [(name, getattr(settings, name)) for name in options]
    return hashlib.sha256(repr((settings.model, values)).encode()).hexdigest()[:8]
