"""Which routes there are."""

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from mockvllm.server.app import build_app
from mockvllm.server.build import build_backend
from mockvllm.settings import load
from mockvllm.testing.transport import InProcessTransport

RECORDED = json.loads((Path(__file__).parent.parent / "data" / "wire" / "routes.json").read_text())
PROFILES = ("0.30", "0.32", "0.33")


async def routes(*flags: str) -> list[str]:
    settings, environment = load(["--no-control", *flags], {})
    found = build_app(build_backend(settings, environment, asyncio.get_running_loop())).routes
    methods: dict[str, set[str]] = {}
    for path, of_path in found:
        methods.setdefault(path, set()).update(of_path)
    return [f"{' '.join(sorted(methods[path]))} {path}" for path in methods]


@pytest.mark.parametrize("profile", PROFILES)
async def test_they_are_those_of_the_release_in_its_order(profile: str) -> None:
    assert await routes("--profile", profile) == RECORDED[profile]


@pytest.mark.parametrize("profile", PROFILES)
async def test_flags_take_some_away_and_add_one(profile: str) -> None:
    flags = ("--disable-fastapi-docs", "--disable-log-stats", "--enable-tokenizer-info-endpoint")
    found = await routes("--profile", profile, *flags)
    gone = {
        "GET HEAD /docs",
        "GET HEAD /docs/oauth2-redirect",
        "GET HEAD /openapi.json",
        "GET HEAD /redoc",
        "GET /metrics",
    }
    assert set(found) == set(RECORDED[profile]) - gone | {"GET /tokenizer_info"}
    assert found.index("GET /tokenizer_info") == found.index("POST /detokenize") + 1


async def ask(path: str, body: object, *flags: str) -> httpx.Response:
    settings, environment = load(["--disable-uvicorn-access-log", *flags], {})
    app = build_app(build_backend(settings, environment, asyncio.get_running_loop())).asgi
    async with httpx.AsyncClient(transport=InProcessTransport(app), base_url="http://mock") as client:
        return await client.post(path, json=body)


@pytest.mark.parametrize("path", ["/v1/completions/render", "/inference/v1/generate"])
async def test_scale_out_is_refused_unless_it_is_on(path: str) -> None:
    off = await ask(path, {})
    assert (off.status_code, off.json()["error"]["type"]) == (403, "PermissionDeniedError")
    on = await ask(path, {}, "--enable-scale-out")
    assert (on.status_code, on.json()["error"]["type"]) == (501, "NotImplementedError")
    assert "mockvllm does not model the scale-out endpoints" in on.text
    assert (await ask(path, {}, "--profile", "0.30")).status_code == 404


@pytest.mark.parametrize(
    ("body", "status", "message"),
    [
        ({"new_data_parallel_size": 2}, 500, "Scale failed"),
        ({}, 400, "new_data_parallel_size is required"),
        ({"new_data_parallel_size": 0}, 400, "new_data_parallel_size must be a positive integer"),
        ({"new_data_parallel_size": "2"}, 400, "new_data_parallel_size must be a positive integer"),
        ({"new_data_parallel_size": 2, "drain_timeout": -1}, 400, "drain_timeout must be a positive integer"),
        ([], 400, "Request body must be a JSON object"),
    ],
)
async def test_nothing_scales(body: object, status: int, message: str) -> None:
    answer = await ask("/scale_elastic_ep", body)
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)
