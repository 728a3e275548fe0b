"""`mockvllm fit`: constants of `--step-time linear` from results of `vllm bench serve`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from mockvllm.cli import console
from mockvllm.cli.console import JSON, option, print_json, whole
from mockvllm.fitting.detailed import timelines
from mockvllm.fitting.linear import CONSTANTS, LinearFit, fit_linear
from mockvllm.fitting.steps import measured_steps
from mockvllm.planning.results import read_results

FLAGS = {
    "base": "--linear-base-ms",
    "per_prefill_token": "--linear-prefill-ms-per-token",
    "per_decode_seq": "--linear-decode-ms-per-seq",
    "per_kv_token": "--linear-kv-ms-per-token",
}

app = console.new_app("Fit the constants of --step-time linear to detailed results of `vllm bench serve`.")


@app.command()
def fit(
    files: Annotated[list[Path], typer.Argument(metavar="FILES", help="results (--save-result --save-detailed)")],
    max_num_batched_tokens: Annotated[int, option(whole, "the server's token budget")] = 8192,
    as_json: JSON = False,
) -> None:
    """The more the results differ in load and lengths, the better the constants are told apart."""
    results = [result for path in files for result in read_results(path)]
    found = fit_linear(
        [step for result in results for step in measured_steps(timelines(result), max_num_batched_tokens)]
    )
    if as_json:
        print_json(_json(found))
    else:
        print("\n".join(_lines(found)))


def main(argv: Sequence[str]) -> int:
    return console.run(app, argv, "fit")


def _constants_ms(found: LinearFit) -> dict[str, float]:
    return {FLAGS[name]: 1000 * getattr(found.linear, name) for name in CONSTANTS}


def _json(found: LinearFit) -> dict[str, object]:
    constants = {flag.removeprefix("--").replace("-", "_"): value for flag, value in _constants_ms(found).items()}
    return constants | {
        "undetermined": [FLAGS[name] for name in found.undetermined],
        "steps": found.num_steps,
        "outliers": found.num_outliers,
        "median_error": found.error,
    }


def _lines(found: LinearFit) -> list[str]:
    flags = " ".join(f"{flag} {value:.6g}" for flag, value in _constants_ms(found).items())
    lines = [
        f"--step-time linear {flags}",
        f"{found.num_steps} steps, {found.num_outliers} of them outliers; half are met within {found.error:.2%}",
    ]
    if found.undetermined:
        names = ", ".join(FLAGS[name] for name in found.undetermined)
        lines.append(f"undetermined, so 0: {names} (add results with other loads and lengths)")
    return lines
