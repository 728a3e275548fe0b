"""The sweep that `mockvllm sweep` reads when it is given no files: synthetic, of the reference replica."""

from importlib.resources import files

from mockvllm.planning.results import Result, parse_results


def lesson_results() -> list[Result]:
    """Seven results, 16 to 96 requests in flight."""
    text = files(__package__).joinpath("lesson_sweep.jsonl").read_text("utf-8")
    return parse_results(text, "lesson_sweep.jsonl")
