"""What cannot be: values out of their range, and flags that contradict each other."""

from mockvllm.settings.environment import Environment
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.knob import flag_of, knob_of
from mockvllm.settings.record import GROUPS, Settings, knobs


def check(settings: Settings, env: Environment) -> None:
    """Raises SettingsError, one line with the flags and their values, for the first thing that cannot be."""
    check_ranges(settings)


def check_ranges(settings: Settings) -> None:
    """Every number lies in the interval its knob declares."""
    for group in GROUPS:
        for declared in knobs(group):
            allowed, value = knob_of(declared).within, getattr(settings, declared.name)
            if allowed and value is not None and value not in allowed:
                raise SettingsError(f"{flag_of(declared.name)}: {value} is not in {allowed.text}")
