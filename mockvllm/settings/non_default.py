"""The options that were given, as vLLM lists them at start-up: `non-default args: {...}`."""

from collections.abc import Iterator
from dataclasses import MISSING, Field
from typing import Any

from mockvllm.settings.ignored import IGNORED, name_of
from mockvllm.settings.knob import knob_of
from mockvllm.settings.mock import Mock
from mockvllm.settings.model import ModelConfig
from mockvllm.settings.record import GROUPS, Settings, knobs

MASK = "***"
SECRETS = ("hf_token",)


def non_default(settings: Settings) -> dict[str, Any]:
    """Names and values in vLLM's order, ours last; lists as lists, secrets masked."""
    groups = {group.__name__: group for group in GROUPS}
    model = {} if settings.model_tag is None else {"model": settings.model_tag}
    shown: dict[str, Any] = {"model_tag": settings.model_tag} if model else {}
    for name in IGNORED:  # holds every group of vLLM's, in its order
        shown |= model if name == ModelConfig.__name__ else {}
        shown |= dict(_changed(settings, groups[name])) if name in groups else {}
        shown |= dict(_changed_ignored(settings, name))
    return shown | dict(_changed(settings, Mock))


def default_of(declared: Field[Any], profile: str) -> Any:
    """The default of a knob in a release."""
    plain = declared.default if declared.default_factory is MISSING else declared.default_factory()
    return knob_of(declared).by_profile.get(profile, plain)


def _changed(settings: Settings, group: type) -> Iterator[tuple[str, Any]]:
    for declared in knobs(group):
        value = getattr(settings, declared.name)
        if declared.name != "config" and value != default_of(declared, settings.profile):
            masked = MASK if knob_of(declared).secret else value
            yield declared.name, list(masked) if isinstance(masked, tuple) else masked


def _changed_ignored(settings: Settings, group: str) -> Iterator[tuple[str, Any]]:
    for key, default in IGNORED.get(group, {}).items():
        name = name_of(key)
        if name in settings.ignored and settings.ignored[name] != default:
            yield name, MASK if name in SECRETS else settings.ignored[name]
