"""What a server says about its flags before it starts: one line for each thing that may surprise."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mockvllm.settings import answer_parsers
from mockvllm.settings.knob import flag_of
from mockvllm.settings.mock import STEP_TIME_PARAMETERS
from mockvllm.settings.unmodelled import OPTIONS, VARIABLES

MODEL_FLAG = (
    "With `vllm serve`, you should provide the model as a positional argument or in a config file instead of via "
    "the `--model` option. The `--model` option will be removed in a future version."
)


def notes(
    values: Mapping[str, Any],
    ignored: Sequence[str],
    own: Sequence[str],
    told: Sequence[str],
    step_time: str,
    environ: Mapping[str, str],
) -> Iterator[str]:
    """`values` are the given options by name, `ignored` those among them that vLLM alone understands; `own` are the
    words of the command line, `told` these and those of the config file.
    """
    if any(word.partition("=")[0] == "--model" for word in own):
        yield MODEL_FLAG
    yield from _listed("Found duplicate keys", repeated(told))
    without_effect = [*ignored, *(name for name in values if name in OPTIONS)]
    yield from _listed("accepted and ignored:", [flag_of(name) for name in without_effect])
    yield from _listed("set and ignored:", [name for name in environ if name in VARIABLES])
    yield from _listed(f"without effect under --step-time {step_time}:", [*idle(values, step_time)])
    yield from answer_parsers.notes(values)
    yield from _idle_connector(values.get("kv_transfer_config") or {})


def _idle_connector(config: Mapping[str, Any]) -> Iterator[str]:
    name = config.get("kv_connector")
    if name not in (None, "NixlConnector"):
        yield f"--kv-transfer-config: kv_connector {name} is accepted and ignored: only NixlConnector acts"


def repeated(words: Sequence[str]) -> list[str]:
    """Flags that stand more than once; the last one counts."""
    names = [word.partition("=")[0] for word in words if word.startswith("--")]
    return [name for name in dict.fromkeys(names) if names.count(name) > 1]


def idle(values: Mapping[str, Any], step_time: str) -> Iterator[str]:
    """Flags that were given to another model of step time than the one in use."""
    own = STEP_TIME_PARAMETERS[step_time]
    others = dict.fromkeys(name for names in STEP_TIME_PARAMETERS.values() for name in names if name not in own)
    yield from (flag_of(name) for name in others if name in values)
    if values.get("async_scheduling") and step_time == "fixed":
        yield flag_of("async_scheduling")


def _listed(text: str, flags: Sequence[str]) -> Iterator[str]:
    if flags:
        yield f"{text} {', '.join(flags)}"
