"""`mockvllm chat`: one question to any chat server, measured; through a proxy that holds the answer back, if told."""

import argparse
import asyncio
import io
import os
import sys
import uuid
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from mockvllm_client.ask import NoServerError, Show, ask, explain, first_model, prompt_of
from mockvllm_client.check import Kind
from mockvllm_client.report import Printer, Report, print_json, print_report
from mockvllm_client.stream import open_client
from mockvllm_client.wireshape import buffer

from mockvllm.cli.argtypes import BUFFERS, Parser, buffering, header, positive, seconds, url

_EXITS = """exit codes: 0 the answer came as it was made (or BUFFERED, where --through asked for it); 1 it did not, the
verdict says how: BUFFERED, EMPTY, TRUNCATED, ABORTED, INBAND_ERROR, HTTP_ERROR, MALFORMED; 2 wrong usage, or nobody
listens"""
_INTERRUPTED = 130  # as a shell says it of a process that SIGINT ended


def main(argv: Sequence[str]) -> int:
    options = parse(argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # whatever a server says can be printed
    try:
        return asyncio.run(chat(options))
    except NoServerError as error:
        print(f"mockvllm chat: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return _INTERRUPTED


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags; exits 2 with one line about a wrong one."""
    parser = Parser("mockvllm chat", allow_abbrev=False, description=__doc__, epilog=_EXITS)
    parser.add_argument("text", nargs="?", help="what the user says (may be left out with --prompt-tokens)")
    parser.add_argument("--url", type=url, default="http://127.0.0.1:8000", help="the server (%(default)s)")
    parser.add_argument("--model", help="the model's name (the first of /v1/models)")
    parser.add_argument("--max-tokens", type=positive, metavar="N", help="output limit, in tokens")
    parser.add_argument("--prompt-tokens", type=positive, metavar="N", help="fill the prompt up to N words")
    parser.add_argument("--stop", action="append", metavar="TEXT", help="a stop string; may be repeated")
    parser.add_argument("--api-key", default=os.environ.get("OPENAI_API_KEY"), help="bearer token ($OPENAI_API_KEY)")
    parser.add_argument(
        "--header", type=header, action="append", default=[], metavar="KEY=VALUE", help="may be repeated"
    )
    parser.add_argument("--control-key", metavar="KEY", help="of a mockvllm elsewhere, to read its journal")
    parser.add_argument("--timeout", type=seconds, default=600.0, metavar="S", help="longest silence, in seconds")
    parser.add_argument("--no-stream", action="store_true", help="ask for one body")
    parser.add_argument("--through", type=buffering, metavar=BUFFERS, help="put a buffering proxy in between")
    output = parser.add_mutually_exclusive_group()
    output.add_argument("--raw", action="store_true", help="print the bytes as they come (the figures on stderr)")
    output.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(argv)
    options.prompt = _prompt(parser, options)
    return options


async def chat(options: argparse.Namespace) -> int:
    """Ask, print, and return the exit code."""
    request_id = f"chat-{uuid.uuid4().hex[:12]}"
    async with open_client(options.url, api_key=options.api_key, idle=options.timeout) as server:
        body = _body(options, options.model or await first_model(server, options.url))
        with _way(options) as way:
            async with open_client(way, api_key=options.api_key, idle=options.timeout) as client:
                transcript = await ask(
                    client, way, body, {"x-request-id": request_id} | dict(options.header), _show(options)
                )
        report = await explain(server, options.url, transcript, request_id, options.control_key)
    report.notes.extend(_prompt_notes(options, report))
    _print(options, report)
    return _exit_code(options, report)


def _way(options: argparse.Namespace) -> AbstractContextManager[str]:
    """The URL to ask: the server's own, or that of a proxy in front of it."""
    if options.through is None:
        return nullcontext(options.url)
    from mockvllm_client.proxy import Proxy
    from mockvllm_client.serving import Background

    return Background(Proxy(options.url, buffer(options.through)))


def _body(options: argparse.Namespace, model: str) -> dict[str, Any]:
    body: dict[str, Any] = {"model": model, "messages": [{"role": "user", "content": options.prompt}]}
    body |= {"max_tokens": options.max_tokens} if options.max_tokens else {}
    body |= {"stop": options.stop} if options.stop else {}
    return body if options.no_stream else body | {"stream": True, "stream_options": {"include_usage": True}}


def _show(options: argparse.Namespace) -> Show:
    if options.raw:
        return lambda data, arrivals: _write(data)
    if options.json:
        return lambda data, arrivals: None
    printer = Printer(sys.stdout)
    return lambda data, arrivals: printer.show(arrivals)


def _write(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def _print(options: argparse.Namespace, report: Report) -> None:
    if options.json:
        print_json(report, sys.stdout)
    elif options.raw:
        print_report(report, sys.stderr)
    else:
        print("" if report.transcript.streamed else report.transcript.answer.first.text)
        print_report(report, sys.stdout)


def _prompt_notes(options: argparse.Namespace, report: Report) -> list[str]:
    counted = (report.transcript.answer.usage or {}).get("prompt_tokens")
    if options.prompt_tokens in (None, counted) or counted is None:
        return []
    more = counted - options.prompt_tokens
    return [f"{options.prompt_tokens} words are {counted} prompt tokens here ({more:+d}): its tokens are not words"]


def _exit_code(options: argparse.Namespace, report: Report) -> int:
    asked_for = options.through not in (None, "off") and report.verdict.kind is Kind.BUFFERED
    return 0 if report.verdict.ok or asked_for else 1


def _prompt(parser: argparse.ArgumentParser, options: argparse.Namespace) -> str:
    if options.text is None and options.prompt_tokens is None:
        parser.error("say something: a text, or --prompt-tokens N")
    if options.prompt_tokens is None:
        return str(options.text)
    try:
        return prompt_of(options.text or "", options.prompt_tokens)
    except ValueError as error:
        parser.error(f"argument --prompt-tokens: {error}")
