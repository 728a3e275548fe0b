"""Flags of `mockvllm simulate`: the workload's, named as `vllm bench serve` names them. The engine's are `serve`'s."""

import math
from argparse import ArgumentTypeError, Namespace
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mockvllm_client.measure import GOODPUT_METRICS, METRICS

from mockvllm.cli.argtypes import Group, Parser, positive
from mockvllm.simulation.arrivals import Arrivals
from mockvllm.simulation.random_dataset import RandomDataset
from mockvllm.simulation.timed_trace import TimedTrace
from mockvllm.simulation.workload import Workload

SCENARIO_FLAGS = ("--scenario", "--trace", "--profile")
RANDOM: dict[str, Any] = {"input_len": 1024, "output_len": 128, "range_ratio": 0.0, "prefix_len": 0}
TRACED: dict[str, Any] = {"chunk_hash_size": 16, "sec_multiplier": 1.0}
DESCRIPTION = "The engine of `mockvllm serve` on a virtual clock: a workload, or a scheduler scenario."
EPILOG = """The flags of `mockvllm serve` that concern the engine are flags here too, with the same defaults:
--max-num-seqs, --max-num-batched-tokens, --num-gpu-blocks-override, --max-model-len, --step-time,
--scheduling-policy, --profile, ... (mockvllm serve --help). Without --max-model-len it is 8192, or what the KV
blocks hold if that is less."""


def parser() -> Parser:
    """Every flag but the engine's; what was not given is None."""
    flags = Parser(prog="mockvllm simulate", description=DESCRIPTION, epilog=EPILOG, allow_abbrev=False)
    scenario = flags.add_argument_group("scenario", "tick by tick, in the format of the scheduler recordings")
    scenario.add_argument("--scenario", type=Path, metavar="FILE", help="the scenario (JSON)")
    scenario.add_argument("--trace", type=Path, metavar="OUT", help="where its trace goes (default: standard output)")
    load = flags.add_argument_group("workload", "as `vllm bench serve` has it")
    load.add_argument("--num-prompts", type=positive, metavar="N", help="requests (default: 1000, or the whole trace)")
    load.add_argument("--max-concurrency", type=positive, metavar="N", help="most requests in flight")
    load.add_argument("--request-rate", type=above_zero, metavar="N", help="requests per second (default: inf)")
    add_random(load)
    add_trace(load)
    _add_output(flags)
    return flags


def add_random(load: Group) -> None:
    load.add_argument("--burstiness", type=above_zero, metavar="N", help="1: Poisson, inf: constant (default: 1)")
    load.add_argument("--random-input-len", type=positive, metavar="N", help="tokens of a prompt (default: 1024)")
    load.add_argument("--random-output-len", type=positive, metavar="N", help="tokens of an answer (default: 128)")
    load.add_argument("--random-range-ratio", type=ratio, metavar="R", help="lengths vary by this share (default: 0)")
    load.add_argument(
        "--random-prefix-len", type=not_negative, metavar="N", help="more tokens, the same in all prompts"
    )
    load.add_argument("--seed", type=int, default=0, metavar="N", help="of every draw, with the request's id")


def add_trace(load: Group) -> None:
    load.add_argument("--timed-trace", type=Path, metavar="FILE", help="JSON lines: timestamp, input_length, ...")
    load.add_argument(
        "--timed-trace-chunk-hash-size", type=positive, metavar="N", help="tokens of a hash id (default: 16)"
    )
    load.add_argument(
        "--timed-trace-sec-multiplier", type=finite_above_zero, metavar="N", help="to seconds (default: 1)"
    )
    load.add_argument("--priority-mix", type=mix, metavar="P=W,...", help="priorities by weight, such as 0=0.6,10=0.4")


def _add_output(flags: Parser) -> None:
    out = flags.add_argument_group("result")
    out.add_argument("--json", action="store_true", help="print the result as JSON")
    out.add_argument("--result-filename", type=Path, metavar="FILE", help="write it there, too")
    out.add_argument("--save-detailed", action="store_true", help="with every request's lengths and times")
    out.add_argument("--plot", type=Path, metavar="FILE", help="save a picture (png, svg, pdf)")
    out.add_argument("--percentile-metrics", type=metrics, default="ttft,tpot,itl,e2el", metavar="NAME,...")
    out.add_argument("--metric-percentiles", type=percentiles, default="50,95,99", metavar="N,...")
    out.add_argument("--goodput", type=limit, nargs="+", metavar="NAME:MS", help="what counts as good, as ttft:1000")
    out.add_argument("--step-by-step", action="store_true", help="take no steps together: the same result, later")


def check_scenario(args: Namespace, words: Sequence[str], model: str | None) -> None:
    """A scenario says itself what is sent to which engine. Raises ValueError for MODEL and any other flag beside it."""
    if args.scenario is None:
        _refuse(args, ["trace"], "is that of a --scenario, and there is none")
        return
    for word in words:
        flag = word.partition("=")[0]
        if (word.startswith("-") and flag not in SCENARIO_FLAGS) or word == model:
            raise ValueError(
                f"{flag} does not go with --scenario, which has its own configuration and load: only --profile and "
                "--trace do"
            )


def arrivals(args: Namespace) -> Arrivals:
    return Arrivals(args.request_rate or math.inf, args.burstiness or 1.0)


def workload(args: Namespace) -> Workload:
    """Raises ValueError for flags that contradict each other, and for a trace that cannot be; OSError."""
    mix = args.priority_mix or {0: 1.0}
    if args.timed_trace is not None:
        return _traced(args, mix)
    _refuse(args, [f"timed_trace_{name}" for name in TRACED], "is for a --timed-trace, and there is none")
    return random_workload(args, mix)


def random_workload(args: Namespace, priority_mix: Mapping[int, float]) -> Workload:
    return RandomDataset(
        **RANDOM | _given(args, "random", RANDOM),
        num_prompts=args.num_prompts or 1000,
        priority_mix=priority_mix,
        arrivals=arrivals(args),
        seed=args.seed,
    ).workload()


def _traced(args: Namespace, priority_mix: dict[int, float]) -> Workload:
    own = ("request_rate", "burstiness", *(f"random_{name}" for name in RANDOM))
    _refuse(args, own, "does not go with --timed-trace, which says it itself")
    return TimedTrace(
        path=args.timed_trace,
        num_prompts=args.num_prompts,
        **TRACED | _given(args, "timed_trace", TRACED),
        priority_mix=priority_mix,
        seed=args.seed,
    ).workload()


def _given(args: Namespace, prefix: str, names: Iterable[str]) -> dict[str, Any]:
    values = {name: getattr(args, f"{prefix}_{name}") for name in names}
    return {name: value for name, value in values.items() if value is not None}


def _refuse(args: Namespace, names: Iterable[str], why: str) -> None:
    for name in names:
        if getattr(args, name) is not None:
            raise ValueError(f"--{name.replace('_', '-')} {why}")


def above_zero(text: str) -> float:
    """A number above 0; `inf` is one."""
    value = _number(text)
    if not value > 0:
        raise ArgumentTypeError(f"{text!r} is not above 0")
    return value


def not_negative(text: str) -> int:
    if not (text.isascii() and text.isdigit()):
        raise ArgumentTypeError(f"{text!r} is no whole number from 0 on")
    return int(text)


def ratio(text: str) -> float:
    value = _number(text)
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"{text!r} is not in [0, 1)")
    return value


def finite_above_zero(text: str) -> float:
    value = above_zero(text)
    if value == math.inf:
        raise ArgumentTypeError(f"{text!r} is not finite")
    return value


def mix(text: str) -> dict[int, float]:
    """`0=0.6,10=0.4`; a colon does as well."""
    weights: dict[int, float] = {}
    for item in text.split(","):
        name, _, weight = item.replace(":", "=").partition("=")
        try:
            priority = int(name)
        except ValueError:
            raise ArgumentTypeError(f"{item!r} is not PRIORITY=WEIGHT") from None
        if not -(2**63) <= priority < 2**63:
            raise ArgumentTypeError(f"{item!r}: a priority has 64 bits")
        if priority in weights:
            raise ArgumentTypeError(f"priority {priority} is there twice")
        weights[priority] = above_zero(weight)
        if weights[priority] == math.inf:
            raise ArgumentTypeError(f"{item!r}: the weight must be finite")
    if math.isinf(sum(weights.values())):
        raise ArgumentTypeError(f"{text!r}: the weights add up to infinity")
    return weights


def metrics(text: str) -> list[str]:
    names = text.split(",")
    for name in names:
        if name not in METRICS:
            raise ArgumentTypeError(f"{name!r} is none of {', '.join(METRICS)}")
    return names


def percentiles(text: str) -> list[float]:
    values = [_number(item) for item in text.split(",")]
    if not all(0 < value <= 100 for value in values):
        raise ArgumentTypeError(f"{text!r}: percentiles are above 0 and at most 100")
    return values


def limit(text: str) -> tuple[str, float]:
    """One of `ttft`, `tpot`, `e2el` and milliseconds."""
    name, _, value = text.partition(":")
    if name not in GOODPUT_METRICS:
        raise ArgumentTypeError(f"{name!r} is none of {', '.join(GOODPUT_METRICS)}")
    return name, above_zero(value)


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise ArgumentTypeError(f"{text!r} is no number")
    return value
