"""`--step-time`: from its name and parameters to the engine's model of how long a step takes."""

from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path

from mockvllm.engine import Fixed, Linear, Pacing, StepTime
from mockvllm.engine.spread import Spread, SpreadFixed
from mockvllm.settings.errors import SettingsError
from mockvllm.settings.model_config import model_of
from mockvllm.settings.record import Settings


def make_step_time(settings: Settings) -> StepTime:
    """The model that the settings name, spread by chance if they say so. Raises SettingsError."""
    step_time = MAKERS[settings.step_time](settings)
    spread, seed = settings.step_time_spread, settings.seed
    if not spread:
        return step_time
    if isinstance(step_time, Fixed):
        return SpreadFixed(step_time.pacing, spread, seed)
    return Spread(step_time, spread, seed)


def _fixed(settings: Settings) -> StepTime:
    return Fixed(Pacing(settings.queue_ms / 1000, settings.ttft_ms / 1000, settings.itl_ms / 1000))


def _linear(settings: Settings) -> StepTime:
    return Linear(
        settings.linear_base_ms / 1000,
        settings.linear_prefill_ms_per_token / 1000,
        settings.linear_decode_ms_per_seq / 1000,
        settings.linear_kv_ms_per_token / 1000,
    )


def _roofline(settings: Settings) -> StepTime:
    from mockvllm.hardware import roofline  # only here: reading configs is a room of its own
    from mockvllm.planning.dtypes import parse_weights_dtype
    from mockvllm.planning.errors import InputError
    from mockvllm.planning.gpus import find_gpu

    try:
        step_time = roofline(
            model_of(settings),
            find_gpu(settings.gpu or "H100"),
            settings.tensor_parallel_size,
            dtype=parse_weights_dtype(settings.quantization) if settings.quantization else None,
            kv_dtype=settings.kv_cache_dtype,
        )
    except InputError as error:
        raise SettingsError(str(error)) from None
    known = {constant.name for constant in fields(step_time.efficiency)}
    unknown = settings.roofline_efficiency.keys() - known
    if unknown:
        raise SettingsError(
            f"--roofline-efficiency: no {', '.join(sorted(unknown))}; it has {', '.join(sorted(known))}"
        )
    return replace(step_time, efficiency=replace(step_time.efficiency, **settings.roofline_efficiency))


def _table(settings: Settings) -> StepTime:
    from mockvllm.engine.measured import Table, Trace, read_points

    if settings.step_time_file is None:
        raise SettingsError(f"--step-time {settings.step_time}: needs --step-time-file FILE")
    try:
        points = read_points(
            Path(settings.step_time_file).read_text("utf-8"), f"--step-time-file {settings.step_time_file}"
        )
        return (Table if settings.step_time == "table" else Trace)(points)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"--step-time-file {settings.step_time_file}: {error}") from None
    except ValueError as error:
        raise SettingsError(str(error)) from None


MAKERS: Mapping[str, Callable[[Settings], StepTime]] = {
    "fixed": _fixed,
    "linear": _linear,
    "roofline": _roofline,
    "table": _table,
    "trace": _table,
}
