"""Short ways to ask /v1/responses and /v1/messages of a server that says words, without tokenizer files."""

import json
from functools import cache
from typing import Any

from wire_harness import MODEL, run

from mockvllm import profiles
from mockvllm.answers.tokenizer import WordTokenizer
from mockvllm.engine import Request
from mockvllm.server.chat import ChatServing
from mockvllm.server.messages import MessagesServing
from mockvllm.server.responses import ResponsesServing
from mockvllm.server.responses_store import ResponsesStore
from mockvllm.server.serving_config import serving_config
from mockvllm.server.serving_options import ServingConfig
from mockvllm.settings import parse
from mockvllm.settings.derive import derive
from mockvllm.wire.errors import APIError
from mockvllm.wire.prepared import Prepared

JSON = (b"content-type", b"application/json")
HOLA = [{"role": "user", "content": "hola"}]
Event = dict[str, Any]


def config(profile: str = "0.33", **options: Any) -> ServingConfig:
    usual = {"model": "/models/m", "model_names": ("m",), "wall_clock": lambda: 7.0, "tokenizer": WordTokenizer()}
    return ServingConfig(**{**usual, "wire": profiles.load(profile).wire, **options})


def messages_api(profile: str = "0.33", **options: Any) -> MessagesServing:
    return MessagesServing(config(profile, **options), profiles.load(profile).messages)


def responses_api(profile: str = "0.33", *, store: bool = False, **options: Any) -> ResponsesServing:
    return ResponsesServing(config(profile, **options), profiles.load(profile).responses, ResponsesStore(store))


@cache
def recorded_api(path: str, *flags: str) -> ResponsesServing | MessagesServing:
    """The endpoint of a server with these flags."""
    settings = parse([MODEL, *flags])
    profile = profiles.load(settings.profile)
    config = serving_config(settings, derive(settings), profile)
    if path == "/v1/messages":
        return MessagesServing(config, profile.messages)
    return ResponsesServing(config, profile.responses, ResponsesStore(enabled=False))


def prepare(serving: ChatServing, *headers: tuple[bytes, bytes], **fields: Any) -> Prepared[Request]:
    """What the server makes of a request; the least that it must have is there unless `fields` say otherwise."""
    if isinstance(serving, MessagesServing):
        least: dict[str, Any] = {"model": "m", "max_tokens": 20, "messages": HOLA}
    else:
        least = {"input": "hola"}
    body = {name: value for name, value in {**least, **fields}.items() if value is not ...}
    return serving.prepare(json.dumps(body).encode(), [JSON, *headers], 0.0)


def refusal(serving: ChatServing, *headers: tuple[bytes, bytes], **fields: Any) -> APIError:
    try:
        prepare(serving, *headers, **fields)
    except APIError as error:
        return error
    raise AssertionError(f"not refused: {fields}")


def whole(serving: ChatServing, *headers: tuple[bytes, bytes], **fields: Any) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(run(prepare(serving, *headers, **fields)))
    return body


def events(payload: bytes) -> list[Event]:
    """The data of each event, which names itself as the line before does."""
    found = []
    for text in filter(None, payload.decode().split("\n\n")):
        name, data = text.split("\n")
        event = json.loads(data.removeprefix("data: "))
        assert name == f"event: {event['type']}"
        found.append(event)
    return found


def stream(serving: ChatServing, *headers: tuple[bytes, bytes], **fields: Any) -> list[Event]:
    return events(run(prepare(serving, *headers, stream=True, **fields)))


def kinds(found: list[Event]) -> list[str]:
    return [event["type"] for event in found]
