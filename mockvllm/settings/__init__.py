"""Every knob of `mockvllm serve`, declared once: flags, config file, environment and help follow from it."""

from mockvllm.settings.checks import check
from mockvllm.settings.environment import Environment
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.parser import load, parse
from mockvllm.settings.record import DEFAULT_MODEL, Settings

__all__ = ["DEFAULT_MODEL", "Environment", "Settings", "SettingsError", "check", "load", "parse"]
