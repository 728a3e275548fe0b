"""A result of `vllm bench serve --save-result` (0.30 to 0.33), each figure checked where it is used."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mockvllm.planning.errors import InputError

_PERCENTILE = re.compile(r"p[\d.]+_\w+_ms")


@dataclass(frozen=True, slots=True)
class Result:
    values: Mapping[str, object]
    source: str

    def has(self, key: str) -> bool:
        return self.values.get(key) is not None

    def number(self, key: str, default: float | None = None) -> float:
        """Zero or more. Raises InputError when it is missing, no number, not finite or negative."""
        value = self.values.get(key)
        if value is None:
            if default is None:
                raise InputError(f"{self.source}: {key} is missing")
            return default
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value) or value < 0:
            raise InputError(f"{self.source}: {key} must be a number and not negative, not {value!r}")
        return float(value)

    def positive(self, key: str) -> float:
        value = self.number(key)
        if value == 0:
            raise InputError(f"{self.source}: {key} must be above 0")
        return value

    def concurrency(self) -> int | None:
        """Requests in flight at most; None for an open loop without such a limit."""
        value = self.positive("max_concurrency") if self.has("max_concurrency") else 0
        if value % 1 or not (value or self.request_rate()):
            shown = f"is {value:g}" if value else "is missing"
            raise InputError(
                f"{self.source}: max_concurrency {shown}: "
                "a sweep needs runs with --max-concurrency N or --request-rate N"
            )
        return int(value) or None

    def request_rate(self) -> float | None:
        """Requests per second that an open loop sends; None for a closed loop, whose rate is infinite."""
        return None if self.values.get("request_rate") in (None, "inf") else self.positive("request_rate")

    def goodput(self) -> float:
        return self.number("request_goodput")

    def percentiles(self, keys: Sequence[str]) -> dict[str, float]:
        """The figures under `keys`. Raises one InputError for all that are missing; it says how to get them."""
        missing = [key for key in keys if not self.has(key)]
        if missing:
            present = ", ".join(key for key in self.values if _PERCENTILE.fullmatch(key))
            others = f"only {present}" if present else "nor any percentile"
            raise InputError(
                f"{self.source}: has no {', '.join(missing)}, {others}: "
                f"run vllm bench serve with {' '.join(self._flags(missing))}"
            )
        return {key: self.number(key) for key in keys}

    def _flags(self, missing: Sequence[str]) -> list[str]:
        numbers = {50.0, 99.0} | {float(key[1:].partition("_")[0]) for key in missing}
        flags = [f"--metric-percentiles {','.join(f'{number:g}' for number in sorted(numbers))}"]
        metrics = [key.split("_")[1] for key in missing]
        if not all(self.has(f"mean_{metric}_ms") for metric in metrics):
            flags.append("--percentile-metrics ttft,tpot,itl,e2el")
        return flags


def read_results(path: Path) -> list[Result]:
    """The results in a file: one JSON object, or one in each line (`--append-result`). Raises InputError."""
    if path.is_dir():
        raise InputError(f"{path}: is a directory, not a file")
    try:
        text = path.read_text("utf-8")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not text") from None
    return parse_results(text, str(path))


def parse_results(text: str, source: str) -> list[Result]:
    try:
        values = [json.loads(text)]
    except RecursionError as error:
        raise InputError(f"{source}: is not JSON ({error})") from None
    except ValueError:
        values = _lines(text, source)
    for value in values:
        if not isinstance(value, dict):
            raise InputError(f"{source}: must hold a JSON object, not {type(value).__name__}")
    names = [source] if len(values) == 1 else [f"{source}:{number}" for number in range(1, len(values) + 1)]
    return [Result(value, name) for value, name in zip(values, names, strict=True)]


def _lines(text: str, source: str) -> list[object]:
    try:
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
    except ValueError as error:
        raise InputError(f"{source}: is not JSON ({error})") from None
    if not lines:
        raise InputError(f"{source}: is empty")
    return lines
