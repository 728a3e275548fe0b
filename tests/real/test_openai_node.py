"""The official Node client: chat, streams, tools, completions, responses, errors."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from scene import MODEL, SENTENCE

SCRIPT = Path(__file__).parent / "node" / "chat.cjs"
MODULES = Path(sys.prefix) / "node" / "node_modules"  # where `make test` puts them

pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="needs Debian's package nodejs"),
    pytest.mark.skipif(not (MODULES / "openai").is_dir(), reason="needs Debian's package npm, then make test"),
]


@pytest.fixture(scope="module")
def made(assistant: str) -> dict[str, Any]:
    """What the script saw."""
    environment = {"PATH": os.environ["PATH"], "NODE_PATH": str(MODULES)}  # nobody's proxy
    argv = ["node", str(SCRIPT), f"{assistant}/v1", MODEL]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def test_a_whole_answer(made: dict[str, Any]) -> None:
    assert made["whole"]["text"] == SENTENCE
    assert (made["whole"]["usage"]["prompt_tokens"], made["whole"]["usage"]["completion_tokens"]) == (4, 13)


def test_a_stream(made: dict[str, Any]) -> None:
    texts = made["streamed"]["texts"]
    assert ("".join(texts), len(texts)) == (SENTENCE, 13)
    assert made["streamed"]["usage"]["total_tokens"] == 14


def test_tool_calls_add_up_in_a_stream(made: dict[str, Any]) -> None:
    assert made["tool"]["reason"] == "tool_calls"
    assert made["tool"]["call"]["name"] == "get_weather"
    assert json.loads(made["tool"]["call"]["arguments"]) == {"city": "Lugo"}


def test_completions(made: dict[str, Any]) -> None:
    assert made["completion"].split() == ["Tu", "pedido"]


def test_responses(made: dict[str, Any]) -> None:
    assert made["response"]["whole"] == made["response"]["final"] == SENTENCE


def test_models(made: dict[str, Any]) -> None:
    assert made["models"] == [MODEL]


def test_errors_have_their_kind(made: dict[str, Any]) -> None:
    assert made["refusals"] == [
        {"name": "BadRequestError", "status": 400},
        {"name": "NotFoundError", "status": 404},
    ]
