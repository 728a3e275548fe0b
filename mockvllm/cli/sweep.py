"""`mockvllm sweep`: the knee in the results of a sweep, and the load to plan with."""

import sys
from collections.abc import Sequence

from mockvllm.cli.sweep_flags import PROG, parse_read, parse_run
from mockvllm.settings.words import plain

_INTERRUPTED = 130  # as a shell says it of a process that SIGINT ended


def main(argv: Sequence[str]) -> int:
    """Exit status 0; 1 when all requests of a point failed; 2 for wrong input, and when nobody listens."""
    words = plain(argv)
    try:
        return _run(words) if "--run" in words else _read(words)
    except (OSError, ValueError) as error:
        print(f"{PROG}: error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED


def _read(words: Sequence[str]) -> int:
    args = parse_read(words)
    from mockvllm.cli.sweep_report import report
    from mockvllm.planning.lesson_sweep import lesson_results
    from mockvllm.planning.results import read_results

    report([result for path in args.files for result in read_results(path)] if args.files else lesson_results(), args)
    return 0


def _run(words: Sequence[str]) -> int:
    args, rest = parse_run(words)
    from mockvllm.cli.sweep_report import report
    from mockvllm.cli.sweep_run import RunFailedError, run

    try:
        results = run(args, rest)
    except RunFailedError as error:
        print(f"{PROG}: {error}", file=sys.stderr)
        return 1
    report(results, args)
    return 0
