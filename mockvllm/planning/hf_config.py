"""A Hugging Face `config.json`: read once, each value checked where it is used."""

import json
from collections.abc import Mapping
from pathlib import Path

from mockvllm.planning.errors import InputError


class HFConfig:
    """The keys of one model. `null` counts as absent, as in Transformers; `assumed` collects what had to be guessed."""

    def __init__(
        self, values: Mapping[str, object], source: str = "config.json", assumed: list[str] | None = None
    ) -> None:
        self.values = values
        self.source = source
        self.assumed: list[str] = [] if assumed is None else assumed

    def assume(self, text: str) -> None:
        if text not in self.assumed:
            self.assumed.append(text)

    def has(self, name: str) -> bool:
        return self.values.get(name) is not None

    def positive(self, *names: str, default: int | None = None) -> int:
        """The first of `names` that is given. InputError: no positive whole number, or absent with no default."""
        value = self._whole(names, default)
        if value < 1:
            raise InputError(f"{self.source}: {self._given(names)} must be a positive whole number, not {value}")
        return value

    def count(self, *names: str, default: int = 0) -> int:
        """As `positive`, zero allowed."""
        value = self._whole(names, default)
        if value < 0:
            raise InputError(f"{self.source}: {self._given(names)} must not be negative, but is {value}")
        return value

    def flag(self, name: str, default: bool = False) -> bool:
        value = self.values.get(name)
        if value is None:
            return default
        if not isinstance(value, bool):
            raise InputError(f"{self.source}: {name} must be true or false, not {value!r}")
        return value

    def text(self, name: str) -> str:
        value = self.values.get(name)
        return value if isinstance(value, str) else ""

    def strings(self, name: str) -> list[str]:
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise InputError(f"{self.source}: {name} must be a list of texts, not {value!r}")
        return list(value)

    def integers(self, name: str) -> list[int]:
        value = self.values.get(name)
        if value is None:
            return []
        if not isinstance(value, list) or not all(type(item) is int for item in value):
            raise InputError(f"{self.source}: {name} must be a list of whole numbers, not {value!r}")
        return list(value)

    def section(self, name: str) -> "HFConfig | None":
        """A nested object. What is assumed there is said here."""
        value = self.values.get(name)
        return HFConfig(value, f"{self.source}: {name}", self.assumed) if isinstance(value, dict) else None

    def over(self, values: Mapping[str, object]) -> "HFConfig":
        """The same config with `values` in place of its own."""
        return HFConfig({**self.values, **values}, self.source, self.assumed)

    def _whole(self, names: tuple[str, ...], default: int | None) -> int:
        name = self._given(names)
        value = self.values.get(name)
        if value is None:
            if default is None:
                raise InputError(f"{self.source}: {name} is missing")
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value or value % 1:
            raise InputError(f"{self.source}: {name} must be a whole number, not {value!r}")
        return int(value)

    def _given(self, names: tuple[str, ...]) -> str:
        return next((name for name in names if self.has(name)), names[0])


def read_json(path: Path) -> object:
    """The JSON value in a file. Raises InputError when it cannot be read or is no JSON."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file")
    try:
        return json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:  # bad JSON, no UTF-8, or nested without end
        raise InputError(f"{path}: is not JSON ({error})") from None


def read_config(path: Path) -> HFConfig:
    """The `config.json` at `path`, or the object that such a file holds under `config`. Raises InputError."""
    values = read_json(path)
    if isinstance(values, dict) and isinstance(values.get("config"), dict):
        values = values["config"]
    if not isinstance(values, dict):
        raise InputError(f"{path}: must hold a JSON object, not {type(values).__name__}")
    return HFConfig(values, path.name)
