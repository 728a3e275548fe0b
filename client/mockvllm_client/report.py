"""What the person sees: the answer as it arrives, then the figures, the verdict and the chain; or all of it as one JSON
object."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TextIO

from mockvllm_client.chain import Link
from mockvllm_client.check import Verdict, warnings
from mockvllm_client.measure import MS, Distribution, Record, quantile
from mockvllm_client.transcript import Arrival, Transcript

_COUNTED = {"prompt_tokens": "prompt", "completion_tokens": "completion"}
_THINKING = "(thinking) "
_OF_TOKENS = ("ttft_s", "tpot_ms", "itl_p50_ms", "itl_p99_ms", "max_gap_ms", "e2e_s", "tokens_per_s")


@dataclass(frozen=True, slots=True)
class Report:
    """A finished request and what is known about it. `delays` are those of `chain.delays`, `no_journal` says why the
    server's side is missing, `notes` are lines for the person."""

    transcript: Transcript
    verdict: Verdict
    links: Sequence[Link] = ()
    journal: dict[str, Any] | None = None
    delays: Sequence[float] = ()
    no_journal: str = ""
    notes: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        """Everything, for a program. Figures that do not exist (no token came) are null."""
        transcript, answer = self.transcript, self.transcript.answer
        return {
            "id": answer.id,
            "model": answer.model,
            "status": transcript.status,
            "text": answer.first.text,
            "reasoning": answer.first.reasoning or None,
            "tool_calls": [asdict(call) for call in answer.first.tool_calls.values()],
            "finish_reason": answer.first.finish_reason,
            "stop_reason": answer.first.stop_reason,
            "usage": answer.usage,
            **self._figures(),
            "delay_p50_ms": self._delay(0.5),
            "delay_max_ms": self._delay(1.0),
            "events": transcript.sse.events,
            "reads": len(transcript.reads),
            "max_events_per_read": max((read.events for read in transcript.reads), default=0),
            "comments": transcript.sse.comments,
            "verdict": str(self.verdict),
            "why": self.verdict.why,
            "evidence": self.verdict.evidence,
            "warnings": [*warnings(transcript), *self.notes],
            "journal": self.journal,
            "no_journal": self.no_journal or None,
            "chain": [{"t": round(link.at, 4), "side": link.side, "what": link.what} for link in self.links],
        }

    def _delay(self, share: float) -> float | None:
        return round(quantile(sorted(self.delays), share) * MS, 3) if self.delays else None

    def _figures(self) -> dict[str, float | None]:
        transcript = self.transcript
        figures = dict.fromkeys(_OF_TOKENS) | {"ttfb_s": transcript.headers_at, "e2e_s": transcript.ended_at}
        if transcript.streamed and (record := transcript.record()):
            figures |= _of_tokens(record)
        figures |= {"ttft_reasoning_s": transcript.first("reasoning"), "ttft_content_s": transcript.first("text")}
        return {name: None if value is None else round(value, 6) for name, value in figures.items()}

    def lines(self) -> list[str]:
        """The same for a person."""
        data = self.as_json()
        rows = [f"{name:<14}{text}" for name, text in _rows(data) if text]
        verdict = f"{self.verdict}: {self.verdict.why}" if self.verdict.why else str(self.verdict)
        notes = [f"note: {text}" for text in data["warnings"]]
        journal = [f"no journal: {self.no_journal}"] if self.no_journal else []
        return [*rows, f"{'verdict':<14}{verdict}", *notes, *journal, *chain_lines(self.links)]


def chain_lines(links: Iterable[Link]) -> list[str]:
    """The chain as a table; empty without links."""
    rows = [f"  {link.at:+8.3f} s  {link.side:<7} {link.what}" for link in links]
    return ["", "the chain, on one clock:", *rows] if rows else []


class Printer:
    """Prints what just came, at once. Thinking is told from the answer by a mark before it and a line end behind it."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._thinking = False

    def show(self, arrivals: Iterable[Arrival]) -> None:
        for arrival in arrivals:
            if arrival.said.reasoning:
                self._write("" if self._thinking else _THINKING, arrival.said.reasoning)
                self._thinking = True
            if arrival.said.text:
                self._write("\n" if self._thinking else "", arrival.said.text)
                self._thinking = False

    def _write(self, *texts: str) -> None:
        print(*texts, sep="", end="", file=self._out, flush=True)


def print_report(report: Report, out: TextIO) -> None:
    print(*report.lines(), sep="\n", file=out)


def print_json(report: Report, out: TextIO) -> None:
    print(json.dumps(report.as_json(), ensure_ascii=False), file=out)


def _rows(data: dict[str, Any]) -> list[tuple[str, str]]:
    usage = data["usage"] or {}
    counts = [f"{usage[name]} {word}" for name, word in _COUNTED.items() if name in usage]
    calls = [f"{call['name']}({call['arguments']})" for call in data["tool_calls"]]
    reads = f"{data['events']} in {data['reads']} reads, at most {data['max_events_per_read']} in one"
    return [
        *(("tool call", call) for call in calls),
        ("finish", str(data["finish_reason"] or "")),
        ("tokens", ", ".join(counts)),
        ("TTFT", _show(data["ttft_s"], "s")),
        ("TPOT", _show(data["tpot_ms"], "ms")),
        ("ITL p50, p99", _pair(data, "itl_p50_ms", "itl_p99_ms")),
        ("E2E", _show(data["e2e_s"], "s")),
        ("tokens/s", _show(data["tokens_per_s"], "")),
        ("TTFB", _show(data["ttfb_s"], "s")),
        ("on the way", _pair(data, "delay_p50_ms", "delay_max_ms", " (p50, max)")),
        ("events", reads if data["events"] else ""),
    ]


def _pair(data: dict[str, Any], one: str, other: str, what: str = "") -> str:
    shown = [_show(data[name], "ms") for name in (one, other)]
    return ", ".join(shown) + what if all(shown) else ""


def _of_tokens(record: Record) -> dict[str, float | None]:
    itl = Distribution.of((gap * MS for gap in record.itl), (50, 99, 100))
    p50, p99, longest = itl.percentiles.values() if record.itl else (None, None, None)
    return {
        "ttft_s": record.ttft,
        "tpot_ms": None if record.tpot is None else record.tpot * MS,
        "itl_p50_ms": p50,
        "itl_p99_ms": p99,
        "max_gap_ms": longest,
        "e2e_s": record.latency,
        "tokens_per_s": record.tokens_per_s,
    }


def _show(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.3f} {unit}".rstrip() if unit == "s" else f"{value:.1f} {unit}".rstrip()
