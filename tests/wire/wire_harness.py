"""A server without sockets or time: requests go straight to the chat endpoint, tokens come one after the other."""

from functools import cache
from pathlib import Path
from typing import Any

from wire_recordings import Case

from mockvllm import profiles
from mockvllm.engine import Request
from mockvllm.engine.stop import check_stop
from mockvllm.server.chat import ChatServing
from mockvllm.server.serving_config import serving_config
from mockvllm.settings import Settings, parse
from mockvllm.settings.derive import derive
from mockvllm.wire.errors import APIError
from mockvllm.wire.prepared import Prepared

MODEL = "/models/chat-70b-fp8-2026-09-28"


@cache
def chat_serving(*flags: str) -> ChatServing:
    """The endpoint of a server with these flags."""
    settings: Settings = parse([MODEL, *flags])
    return ChatServing(serving_config(settings, derive(settings), profiles.load(settings.profile)))


def recorded_flags(case: Case, model: Path) -> tuple[str, ...]:
    """The flags of the recorded server, and ours that make it say what the recorded model said."""
    flags = [*case["flags"], "--tokenizer", str(model), "--hf-config-path", str(model), "--answer", "repeat"]
    flags += ["--profile", case["version"].rpartition(".")[0]]
    return (*flags, *(() if "--generation-config" in flags else ("--generation-config", str(model))))


def exchange(serving: ChatServing, request: dict[str, Any]) -> tuple[int, str]:
    """(status, body) of one exchange."""
    headers = [(name.lower().encode(), value.encode()) for name, value in request["headers"]]
    try:
        prepared = serving.prepare((request["body_text"] or "").encode(), headers, 0.0)
    except APIError as error:
        return error.status, error.body().decode()
    return 200, run(prepared, serving.config.max_model_len).decode()


def run(prepared: Prepared[Request], max_model_len: int = 8192) -> bytes:
    """The whole response: every choice says its tokens, one a step, until it ends."""
    answer = prepared.answer
    if prepared.failure is not None:
        return answer.failure(prepared.failure)
    running = dict(enumerate(prepared.choices))
    body = answer.begin()
    while running:
        for index, request in list(running.items()):
            body += step(prepared, index, request, max_model_len)
            if request.finish_reason is not None or answer.stopped(index):
                del running[index]
    return body + answer.close() if prepared.stream else answer.body()


def step(prepared: Prepared[Request], index: int, request: Request, max_model_len: int) -> bytes:
    """One more token of one choice, with the engine's stop conditions."""
    request.num_tokens += 1
    reason = check_stop(request, max_model_len)
    if reason is None:
        return prepared.answer.chunks(index, 1)
    return prepared.answer.finish(index, 1, reason, request.stop_reason)
