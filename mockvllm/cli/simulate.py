"""`mockvllm simulate`: the engine on a virtual clock."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mockvllm import profiles
from mockvllm.simulation.scenario import read_scenario
from mockvllm.simulation.scenario_run import run_scenario


def main(argv: Sequence[str]) -> int:
    """Exit status 0; 2 with one line on standard error for wrong flags or an unreadable scenario."""
    args = _parser().parse_args(argv)
    try:
        return _replay(args)
    except (OSError, ValueError) as error:
        print(f"mockvllm simulate: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="mockvllm simulate", description=__doc__, allow_abbrev=False)
    parser.add_argument("--profile", default="0.33", choices=profiles.NAMES, help="vLLM release to follow")
    group = parser.add_argument_group("scenario", "a scheduler scenario, tick by tick")
    group.add_argument("--scenario", type=Path, required=True, metavar="FILE", help="the scenario (JSON)")
    group.add_argument(
        "--trace", type=Path, metavar="OUT", help="where its trace goes (JSON; default: standard output)"
    )
    return parser


def _replay(args: argparse.Namespace) -> int:
    trace = run_scenario(read_scenario(args.scenario), profiles.load(args.profile))
    encoded = msgspec.json.encode({"trace": trace}) + b"\n"
    if args.trace is None:
        sys.stdout.buffer.write(encoded)
    else:
        args.trace.write_bytes(encoded)
    return 0
