"""Flags of `mockvllm sweep`: how results are read, and with `--run` how they are made (as in `vllm bench serve`)."""

import json
import os
from argparse import ArgumentTypeError, Namespace
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from mockvllm_client.bodies import BACKENDS

from mockvllm.cli.argtypes import Parser, header, positive, seconds, url
from mockvllm.cli.simulate_flags import above_zero, add_random, finite_above_zero, not_negative, percentiles
from mockvllm.planning.sweep import SLO_METRICS

PROG = "mockvllm sweep"
READ = "The knee in the results of `vllm bench serve`, and the load to plan with. Without FILES: a lesson's sweep."
RUN = "Make a sweep, then read it: against a server, or on a virtual clock."
READ_EPILOG = "With --run the sweep is made first: mockvllm sweep --run --help."
VIRTUAL_EPILOG = """Without --base-url the engine runs on a virtual clock, and the flags of `mockvllm serve` that
concern it are flags here too, as in `mockvllm simulate`: --max-num-seqs, --step-time, --num-gpu-blocks-override, ...
Flags of requests to a server: mockvllm sweep --run --base-url URL --help."""
LIVE_EPILOG = "exit codes: 0 a table was printed; 1 every request of a point failed; 2 wrong usage, or nobody listens"
SAMPLING = ("temperature", "top-p", "top-k", "min-p", "frequency-penalty", "presence-penalty", "repetition-penalty")

T = TypeVar("T")


def parse_read(argv: Sequence[str]) -> Namespace:
    flags = Parser(prog=PROG, description=READ, epilog=READ_EPILOG, allow_abbrev=False)
    flags.add_argument("files", nargs="*", type=Path, metavar="FILES", help="results (JSON), one a load")
    _add_reading(flags)
    return flags.parse_args(argv)


def parse_run(argv: Sequence[str]) -> tuple[Namespace, list[str]]:
    """The flags, and without `--base-url` the words that are left to the engine."""
    where = Parser(prog=PROG, add_help=False, allow_abbrev=False)
    where.add_argument("--base-url", type=url)
    live = where.parse_known_args(argv)[0].base_url is not None
    flags = _run_parser(live)
    args, rest = (flags.parse_args(argv), []) if live else flags.parse_known_args(argv)
    return args, list(rest)


def _run_parser(live: bool) -> Parser:
    flags = Parser(
        prog=f"{PROG} --run", description=RUN, epilog=LIVE_EPILOG if live else VIRTUAL_EPILOG, allow_abbrev=False
    )
    flags.add_argument("--run", action="store_true", required=True, help="make the sweep")
    flags.add_argument("--base-url", type=url, metavar="URL", help="the server (default: none, a virtual clock)")
    _add_load(flags)
    if live:
        _add_requests(flags)
    _add_result(flags)
    _add_reading(flags)
    return flags


def _add_load(flags: Parser) -> None:
    load = flags.add_argument_group("load", "one of the two is a list: its points are run one after the other")
    load.add_argument("--max-concurrency", type=several(positive), metavar="N,...", help="most requests in flight")
    load.add_argument("--request-rate", type=several(finite_above_zero), metavar="N,...", help="requests per second")
    load.add_argument(
        "--num-prompts", type=positive, metavar="N", help="of each point (default: 10 for each in flight, or 1000)"
    )
    add_random(load)


def _add_requests(flags: Parser) -> None:
    asked = flags.add_argument_group("requests")
    asked.add_argument("--backend", choices=BACKENDS, default="openai", help="completions (%(default)s), or chat")
    asked.add_argument("--endpoint", metavar="PATH", help="instead of the backend's own")
    asked.add_argument("--model", metavar="ID", help="(default: the first of /v1/models)")
    asked.add_argument("--served-model-name", metavar="NAME", help="what requests call it (default: --model)")
    asked.add_argument("--header", type=header, nargs="+", default=[], metavar="KEY=VALUE")
    asked.add_argument("--request-id-prefix", metavar="TEXT", help="of x-request-id (default: bench-, 8 hex digits, -)")
    asked.add_argument("--num-warmups", type=not_negative, default=0, metavar="N", help="requests that do not count")
    asked.add_argument("--ignore-eos", action="store_true", help="answers go on to their limit")
    asked.add_argument("--logprobs", type=positive, metavar="N", help="of each token (completions)")
    for name in SAMPLING:
        asked.add_argument(f"--{name}", type=int if name == "top-k" else float, metavar="X", help="(not sent)")
    asked.add_argument("--extra-body", type=json_object, default={}, metavar="JSON", help="more fields, the last word")
    asked.add_argument("--timeout", type=seconds, default=600.0, metavar="S", help="longest silence, in seconds")
    asked.set_defaults(api_key=os.environ.get("OPENAI_API_KEY"))


def _add_result(flags: Parser) -> None:
    out = flags.add_argument_group("results", "a file a point, as `vllm bench serve --save-result` writes it")
    out.add_argument("--result-dir", type=Path, metavar="DIR", help="where they go (default: nowhere)")
    out.add_argument("--label", metavar="TEXT", help="for the files and their names (default: the backend)")
    out.add_argument("--save-detailed", action="store_true", help="with every request's lengths, times and text")
    out.add_argument("--metric-percentiles", type=percentiles, default="50,95,99", metavar="N,...")


def _add_reading(flags: Parser) -> None:
    read = flags.add_argument_group("reading")
    read.add_argument("--slo", type=slo, default="ttft=1000,tpot=50", metavar="NAME=MS,...", help="what is promised")
    read.add_argument(
        "--percentile", type=up_to(100), default=95.0, metavar="N", help="of requests that are promised it"
    )
    read.add_argument(
        "--plan-share", type=up_to(1), default=0.7, metavar="SHARE", help="of the knee's load to plan with"
    )
    read.add_argument("--plot", type=Path, metavar="FILE", help="save a picture (png, svg, pdf)")
    read.add_argument("--json", action="store_true", help="print JSON")


def several(read: Callable[[str], T]) -> Callable[[str], list[T]]:
    """Values with commas between them, none of them twice."""

    def read_all(text: str) -> list[T]:
        values = [read(item.strip()) for item in text.split(",")]
        if len(set(values)) < len(values):
            raise ArgumentTypeError(f"{text!r} holds a value twice")
        return values

    return read_all


def slo(text: str) -> dict[str, float]:
    """`ttft=1000,tpot=50`: milliseconds by metric."""
    limits: dict[str, float] = {}
    for item in text.split(","):
        name, _, limit = item.strip().partition("=")
        if name not in SLO_METRICS or name in limits:
            raise ArgumentTypeError(f"each of {', '.join(SLO_METRICS)} at most once, not {text}")
        limits[name] = finite_above_zero(limit)
    return limits


def up_to(limit: float) -> Callable[[str], float]:
    """A number above 0, and not above the limit."""

    def read(text: str) -> float:
        value = above_zero(text)
        if value > limit:
            raise ArgumentTypeError(f"must be at most {limit:g}, not {text}")
        return value

    return read


def json_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ArgumentTypeError(f"{text!r} is not JSON ({error})") from None
    if not isinstance(value, dict):
        raise ArgumentTypeError(f"{text!r} is no JSON object")
    return value
