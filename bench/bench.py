"""Servers side by side: start one, load it, stop it; rounds are the outer loop, so that servers interleave.

    python bench/bench.py bench/servers.json bench/out/results.jsonl --rounds 3 [--only ours,cfloor] [--runs z64,p1000]

`servers.json`: name -> {"cmd": "... {port} ...", "env": {}, "model": "mock", "scenarios": {"paced": {"cmd": ...}}}; a
scenario overrides what it names, null leaves it out. Commands are looked up in this folder too. Loopback only; only
processes started here are ended.
`bench/summarize.py` prints the medians.
"""

import argparse
import json
import os
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SCENARIOS = {
    # n: not streamed, l: a one-token stream, z: streams of 100 tokens flat out; the number is the connections
    "zero": {
        "n1": "-N -n 1 -r 0 -d 1 -t 16",
        "l1": "-n 1 -r 0 -d 1 -t 1",
        "n64": "-N -n 64 -r 0 -d 2 -t 16",
        "z1": "-n 1 -r 0 -d 2 -t 100",
        "z64": "-n 64 -r 0 -d 2 -t 100",
        "z512": "-n 512 -r 0 -d 3 -t 100",
        "z2000": "-n 2000 -r 0 -d 6 -t 100",
    },
    # p: 30 tokens, one in 40 ms, starts spread over a second; s: 125 tokens, mostly steady state
    "paced": {
        "p64": "-n 64 -r 1 -d 12 -t 30 -i 40 -w 1000",
        "p512": "-n 512 -r 1 -d 12 -t 30 -i 40 -w 1000",
        "p1000": "-n 1000 -r 1 -d 12 -t 30 -i 40 -w 1000",
        "p2000": "-n 2000 -r 1 -d 12 -t 30 -i 40 -w 1000",
        "s1000": "-n 1000 -r 1 -d 15 -t 125 -i 40 -w 1000",
        "s2000": "-n 2000 -r 1 -d 20 -t 125 -i 40 -w 1000",
    },
}
START_SECONDS = 30.0


def health(port: int, path: str) -> int:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1) as connection:
            connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
            return int(connection.recv(64).split()[1])
    except (OSError, IndexError, ValueError):
        return 0


@contextmanager
def running(config: dict[str, Any], port: int) -> Iterator[tuple[int, float | None]]:
    """(pid, seconds to the first 200), or (pid, None) when it did not start."""
    env = os.environ | {"PATH": f"{HERE}:{Path(sys.executable).parent}:{os.environ['PATH']}"}
    env |= {name: str(value) for name, value in config.get("env", {}).items()}
    began = time.perf_counter()
    process = subprocess.Popen(
        shlex.split(config["cmd"].format(port=port)),
        env=env,
        cwd=HERE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process.pid, _await_health(process, port, config.get("health", "/health"), began)
    finally:
        _stop(process)


def _await_health(process: subprocess.Popen[bytes], port: int, path: str, began: float) -> float | None:
    while time.perf_counter() - began < START_SECONDS and process.poll() is None:
        if health(port, path) == 200:
            return time.perf_counter() - began
        time.sleep(0.002)
    return None


def _stop(process: subprocess.Popen[bytes]) -> None:
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is None:
            os.killpg(process.pid, number)
            try:
                process.wait(3)
            except subprocess.TimeoutExpired:
                continue


def load(pid: int, port: int, model: str, flags: str) -> dict[str, Any] | None:
    command = [str(HERE / "ssebench"), "-p", str(port), "-m", model, "-s", str(pid), *shlex.split(flags)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return json.loads(run.stdout) if run.stdout.startswith("{") else None


def measure(name: str, server: dict[str, Any], scenario: str, port: int, wanted: set[str]) -> Iterator[dict[str, Any]]:
    """One line a run."""
    override = server.get("scenarios", {}).get(scenario, {})
    if override is None:
        return
    config = server | override | {"env": server.get("env", {}) | override.get("env", {})}
    with running(config, port) as (pid, startup):
        model = config.get("model", "mock")
        warm = startup is not None and load(pid, port, model, "-n 2 -r 3 -t 5 -d 10")
        if not warm or not warm["ok"]:
            print(f"{name} {scenario}: answers no request", file=sys.stderr)
            return
        for run, flags in SCENARIOS[scenario].items():
            if (not wanted or run in wanted) and (row := load(pid, port, model, flags)):
                yield row | {"server": name, "run": run, "startup_s": startup}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("servers", type=Path)
    parser.add_argument("results", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="servers, by commas")
    parser.add_argument("--runs", default="", help="runs, by commas")
    parser.add_argument("--nice", type=int, default=0, help="below 0 (as root): keeps neighbours out of the timing")
    args = parser.parse_args()
    os.nice(args.nice)
    servers = json.loads(args.servers.read_text())
    names = args.only.split(",") if args.only else list(servers)
    wanted = set(filter(None, args.runs.split(",")))
    port = 21000 + os.getpid() % 5000
    args.results.parent.mkdir(parents=True, exist_ok=True)
    for number in range(args.rounds):
        for scenario, runs in SCENARIOS.items():
            if wanted and wanted.isdisjoint(runs):
                continue
            for name in names:
                port += 1
                for row in measure(name, servers[name], scenario, port, wanted):
                    with args.results.open("a") as out:
                        out.write(json.dumps(row | {"round": number}) + "\n")


if __name__ == "__main__":
    main()
