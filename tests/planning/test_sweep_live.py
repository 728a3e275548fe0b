"""`mockvllm sweep --run --base-url`: against servers of ours, and what is said when they do not answer."""

import json
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import support
from figures import refusal, run, show
from patience import patient

Serve = Callable[..., support.Service]
LOAD = ("--random-input-len", 60, "--random-output-len", 12, "--ignore-eos")
MODEL = Path(__file__).parent.parent / "data" / "model"


@pytest.fixture(scope="module")
def server() -> Iterator[support.Service]:
    """Four seats, 60 ms to the first token and 8 ms to each other: 12 tokens take 148 ms."""
    with support.serve("--max-num-seqs", "4", "--ttft-ms", "60", "--itl-ms", "8") as running:
        yield running


def files(directory: Path) -> list[dict[str, Any]]:
    results = [json.loads(path.read_text("utf-8")) for path in directory.iterdir()]
    return sorted(results, key=lambda result: (float(result["request_rate"]), result["max_concurrency"] or 0))


def asked(server: support.Service, number: int) -> list[dict[str, Any]]:
    """What the server says it was sent: headers and body of the last requests."""
    with httpx.Client(trust_env=False) as client:
        entries = client.get(f"{server.url}/mock/requests?limit={number}").json()["requests"]
        full = [client.get(f"{server.url}/mock/requests/{entry['id']}").json() for entry in entries]
    return [
        {
            "path": entry["path"],
            "headers": dict(entry["request"]["headers"]),
            "body": json.loads(entry["request"]["body"]),
        }
        for entry in full
    ]


@patient
def test_the_knee_is_where_the_seats_end(server: support.Service, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp("made")
    load = ("--max-concurrency", "1,4,12", "--result-dir", tmp_path, "--save-detailed", *LOAD)
    reading = ("--slo", "ttft=200,tpot=40")
    sweep = show("sweep", "--run", "--base-url", server.url, *load, *reading)
    assert sweep["knee"]["concurrency"] == 4
    assert [point["ok"] for point in sweep["points"]] == [True, True, False]
    for point in sweep["points"]:
        assert point["marks"] == []
        assert point["output_throughput"] == pytest.approx(12 * point["request_throughput"])
    assert show("sweep", *tmp_path.iterdir(), *reading) == sweep
    assert [result["num_prompts"] for result in files(tmp_path)] == [10, 40, 120]
    for result in files(tmp_path):
        assert set(result["input_lens"]) == {60}
        assert set(result["output_lens"]) == {12}
        assert min(result["ttfts"]) >= 0.059
        assert len(result["itls"][0]) == 11
        assert result["generated_texts"][0].startswith("Tu pedido sale mañana")
        assert set(result["errors"]) == {""}
    assert show("fit", *tmp_path.iterdir())["steps"] > 100


def test_what_is_sent_is_what_the_tool_sends(server: support.Service) -> None:
    flags = ("--num-prompts", 3, "--max-concurrency", 1, "--request-id-prefix", "mine-", "--header", "x-team=a", "y=b")
    done = run("sweep", "--run", "--base-url", f"{server.url}/v1/", *flags, "--temperature", 0, "--seed", 5, *LOAD)
    assert done.status == 0
    sent = asked(server, 3)
    assert [request["headers"]["x-request-id"] for request in sent] == ["mine-0", "mine-1", "mine-2"]
    assert {(request["headers"]["x-team"], request["headers"]["y"]) for request in sent} == {("a", "b")}
    for request in sent:
        prompt = request["body"].pop("prompt")
        assert len(prompt.split()) == 60
        assert (request["path"], list(request["body"].items())) == (
            "/v1/completions",
            [
                ("model", "chat-70b-fp8-2026-09-28"),
                ("repetition_penalty", 1.0),
                ("max_tokens", 12),
                ("logprobs", None),
                ("stream", True),
                ("stream_options", {"include_usage": True}),
                ("ignore_eos", True),
                ("temperature", 0.0),
            ],
        )


def test_chat_is_another_backend(server: support.Service, tmp_path: Path) -> None:
    flags = ("--backend", "openai-chat", "--num-prompts", 4, "--request-rate", 40, "--extra-body", '{"top_k": 3}')
    [point] = show("sweep", "--run", "--base-url", server.url, *flags, *LOAD, "--result-dir", tmp_path)["points"]
    assert (point["concurrency"], point["request_rate"]) == (None, 40)
    [made] = files(tmp_path)
    assert (made["backend"], made["request_rate"], made["max_concurrency"]) == ("openai-chat", 40, None)
    assert (made["total_input_tokens"], made["total_output_tokens"]) == (240, 48)
    request = asked(server, 1)[0]
    assert request["path"] == "/v1/chat/completions"
    assert request["body"]["max_completion_tokens"] == 12
    assert request["body"]["top_k"] == 3


def test_warm_up_does_not_count(server: support.Service, tmp_path: Path) -> None:
    flags = ("--num-prompts", 2, "--max-concurrency", 1, "--num-warmups", 3, "--request-id-prefix", "warm-")
    run("sweep", "--run", "--base-url", server.url, *flags, *LOAD, "--result-dir", tmp_path)
    assert files(tmp_path)[0]["completed"] == 2
    numbers = [request["headers"]["x-request-id"] for request in asked(server, 5)]
    assert numbers == ["warm-0"] * 4 + ["warm-1"]


def test_the_same_seed_sends_the_same_prompts_and_each_point_others(server: support.Service) -> None:
    def prompts(*flags: object) -> list[str]:
        words = ("--max-concurrency", "1,2", "--num-prompts", 2, "--random-prefix-len", 9, *flags, *LOAD)
        assert run("sweep", "--run", "--base-url", server.url, *words).status == 0
        return [request["body"]["prompt"] for request in asked(server, 4)]

    once = prompts("--seed", 1)
    assert sorted(once) == sorted(prompts("--seed", 1))
    assert len({*once, *prompts("--seed", 2)}) == 8
    assert len({tuple(prompt.split()[:9]) for prompt in once}) == 2  # a prefix a point


def test_a_real_tokenizer_counts_as_many_as_were_wanted(serve: Serve, tmp_path: Path) -> None:
    real = serve(str(MODEL), "--ttft-ms", "1", "--itl-ms", "1")
    flags = ("--max-concurrency", 4, "--random-range-ratio", 0.9, "--num-prompts", 20, "--save-detailed")
    run("sweep", "--run", "--base-url", real.url, *flags, *LOAD, "--result-dir", tmp_path / "live")
    run("sweep", "--run", *flags, *LOAD[:4], "--result-dir", tmp_path / "virtual")
    [live], [virtual] = files(tmp_path / "live"), files(tmp_path / "virtual")
    assert live["input_lens"] == virtual["input_lens"]
    assert live["output_lens"] == virtual["output_lens"]


def test_a_prompt_that_can_never_fit_is_not_sent(server: support.Service) -> None:
    line = refusal("sweep", "--run", "--base-url", server.url, "--random-input-len", 8192, "--max-concurrency", 1)
    assert "request 0: a prompt of 8192 tokens is refused, as max_model_len is 8192" in line


def test_a_model_that_is_not_there_is_one_line(server: support.Service, tmp_path: Path) -> None:
    flags = ("--model", "other", "--max-concurrency", "2", "--result-dir", tmp_path, *LOAD)
    done = run("sweep", "--run", "--base-url", server.url, *flags)
    assert (done.status, done.out, done.err.count("\n")) == (1, "", 1)
    assert "--max-concurrency 2: all 20 requests failed: Not Found: The model `other` does not exist" in done.err
    assert list(tmp_path.iterdir()) == []


def test_a_request_that_fails_beside_others_is_said_and_marked(serve: Serve, tmp_path: Path) -> None:
    """In 0.30 a request whose answer would not fit is refused."""
    small = serve("--profile", "0.30", "--max-model-len", "100", "--ttft-ms", "1", "--itl-ms", "1")
    lengths = ("--random-input-len", 60, "--random-output-len", 40, "--random-range-ratio", 0.3, "--num-prompts", 30)
    flags = (*lengths, "--max-concurrency", 3, "--result-dir", tmp_path, "--save-detailed")
    done = run("sweep", "--run", "--base-url", small.url, *flags)
    [made] = files(tmp_path)
    refused = [error for error in made["errors"] if error]
    assert 0 < len(refused) == made["failed"] == 30 - made["completed"] < 30
    assert f"--max-concurrency 3: {len(refused)} of 30 requests failed: Bad Request: " in done.err
    assert (done.status, done.err.count("\n")) == (0, 1)
    assert f"{len(refused)} requests failed" in done.out
    assert all(not ttft for ttft, error in zip(made["ttfts"], made["errors"], strict=True) if error)


def test_a_key_is_sent(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    locked = serve("--api-key", "sesame", "--ttft-ms", "1", "--itl-ms", "1")
    words = ("sweep", "--run", "--base-url", locked.url, "--max-concurrency", 1, "--num-prompts", 1, *LOAD)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "/v1/models answers 401" in refusal(*words)
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    assert run(*words).status == 0


def test_an_interrupt_ends_it_and_its_requests(serve: Serve) -> None:
    slow = serve("--ttft-ms", "20000")
    words = ("--run", "--base-url", slow.url, "--max-concurrency", "3", "--random-input-len", "20")
    sweep = subprocess.Popen(support.mockvllm("sweep", *words), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        await_states(slow, ["running"] * 3)
        sweep.send_signal(signal.SIGINT)
        assert (*sweep.communicate(timeout=10), sweep.returncode) == (b"", b"", 130)
    finally:
        support.stop(sweep)
    await_states(slow, ["aborted_client"] * 3)


def await_states(server: support.Service, wanted: list[str]) -> None:
    deadline = time.monotonic() + 10
    with httpx.Client(trust_env=False) as client:
        while True:
            entries = client.get(f"{server.url}/mock/requests").json()["requests"]
            states = [entry["state"] for entry in entries]
            if states == wanted:
                return
            assert time.monotonic() < deadline, states
            time.sleep(0.02)


def test_nobody_listens() -> None:
    url = f"http://127.0.0.1:{support.free_port()}"
    assert f"cannot connect to {url}" in refusal("sweep", "--run", "--base-url", url)
    assert f"cannot connect to {url}" in refusal("sweep", "--run", "--base-url", url, "--model", "m")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--backend", "grpc"], "--backend: invalid choice: 'grpc'"),
        (["--endpoint", "/v1/chat"], "--endpoint /v1/chat: of --backend openai is a path that ends in completions"),
        (["--endpoint", "/v1/completions", "--backend", "openai-chat"], "ends in chat/completions"),
        (["--extra-body", "{"], "--extra-body: '{' is not JSON"),
        (["--extra-body", "[]"], "--extra-body: '[]' is no JSON object"),
        (["--header", "team"], "--header: 'team' is no KEY=VALUE"),
        (["--num-warmups", "-1"], "--num-warmups: '-1' is no whole number from 0 on"),
        (["--timeout", "0"], "--timeout: '0' is no number of seconds above 0"),
        (["--temperature", "warm"], "--temperature: invalid float value: 'warm'"),
        (["--max-num-seqs", "4"], "unrecognized arguments: --max-num-seqs 4"),
        (["results.json"], "unrecognized arguments: results.json"),
    ],
)
def test_wrong_flags_are_refused(words: list[str], message: str) -> None:
    assert message in refusal("sweep", "--run", "--base-url", "http://127.0.0.1:1", *words)
