"""Replays a measured experiment (`tests/data/fidelity`) with the real engine on the virtual clock."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mockvllm.clock import VirtualClock
from mockvllm.clock.driver import Driver
from mockvllm.engine import Engine, EngineCore, Request, RequestOutput, SchedulerConfig
from mockvllm.engine.roofline import Efficiency, Roofline
from mockvllm.hardware import roofline
from mockvllm.planning.dtypes import bytes_by_part
from mockvllm.planning.gpus import GIB, find_gpu
from mockvllm.planning.hf_config import HFConfig
from mockvllm.planning.memory import Replica, num_gpu_blocks
from mockvllm.planning.model import Model, read_model

GPU_OF_ALL = find_gpu("H100")
OVERHEAD_BYTES = 2 * GIB  # of each GPU: activations, CUDA graphs, the runtime
GIVES_UP_AFTER = 300.0  # seconds; the load generator then counts the request as failed
PAUSE = 10.0  # seconds between the stages of an experiment


@dataclass(frozen=True)
class Speech:
    """Ids nobody else says, without end."""

    first: int
    end: int | None = None

    def token(self, index: int) -> int:
        return self.first + index

    def tokens(self, start: int, stop: int) -> Sequence[int]:
        return range(self.first + start, self.first + stop)


@dataclass(frozen=True)
class Stage:
    """One rate of an experiment: `num_requests` at `rate` per second, and the measured means in seconds."""

    rate: float
    num_requests: int
    prompt_tokens: int
    ttft: float
    tpot: float
    e2e: float


@dataclass(frozen=True)
class Experiment:
    """A model on a server under load. Lengths are in tokens."""

    name: str
    model_name: str
    model: Model
    engine: dict[str, Any]
    system_tokens: int
    question_tokens: int
    output_tokens: int
    num_system_prompts: int
    questions_per_system_prompt: int
    stages: tuple[Stage, ...]

    @property
    def tensor_parallel_size(self) -> int:
        return int(self.engine["tensor_parallel_size"])


@dataclass
class Sample:
    """What the client saw of one request; seconds."""

    request: Request
    done: bool = False

    @property
    def ttft(self) -> float:
        assert self.request.first_token_at is not None
        return self.request.first_token_at - self.request.arrival_time

    @property
    def e2e(self) -> float:
        assert self.request.last_token_at is not None
        return self.request.last_token_at - self.request.arrival_time


@dataclass
class Means:
    """Predicted means over the requests that were answered; seconds."""

    ttft: float
    tpot: float
    e2e: float
    failed: int = field(default=0)


def read_experiment(path: Path) -> Experiment:
    data = json.loads(path.read_text("utf-8"))
    load = data["workload"]
    return Experiment(
        name=data["id"],
        model_name=data["model"].rpartition("/")[2],
        model=read_model(HFConfig(data["model_config"], path.name)),
        engine=data["engine"],
        system_tokens=load["system_prompt_tokens"],
        question_tokens=load["question_tokens"],
        output_tokens=load["output_tokens"],
        num_system_prompts=load["num_system_prompts"],
        questions_per_system_prompt=load["questions_per_system_prompt"],
        stages=tuple(_stage(stage) for stage in data["stages"]),
    )


def _stage(data: dict[str, Any]) -> Stage:
    measured = data["measured"]
    return Stage(
        rate=data["rate_rps"],
        num_requests=data["sent"],
        prompt_tokens=round(data["prompt_tokens_mean"]),
        ttft=measured["ttft_s"]["mean"],
        tpot=measured["tpot_mean_s"],
        e2e=measured["e2e_s"]["mean"],
    )


def step_time(experiment: Experiment, efficiency: Efficiency) -> Roofline:
    return roofline(experiment.model, GPU_OF_ALL, experiment.tensor_parallel_size, efficiency=efficiency)


def scheduler_config(experiment: Experiment) -> SchedulerConfig:
    flags, gpus = experiment.engine, experiment.tensor_parallel_size
    replica = Replica(
        weights_bytes=round(sum(bytes_by_part(experiment.model.parameters, experiment.model.dtype).values())),
        gpu_memory_bytes=GPU_OF_ALL.memory_bytes,
        gpu_memory_utilization=flags["gpu_memory_utilization"],
        tensor_parallel_size=gpus,
        overhead_bytes=gpus * OVERHEAD_BYTES,
    )
    return SchedulerConfig(
        num_gpu_blocks=num_gpu_blocks(replica, experiment.model.kv_cache(), flags["block_size"]),
        block_size=flags["block_size"],
        max_num_seqs=flags["max_num_seqs"],
        max_num_batched_tokens=flags["max_num_batched_tokens"],
        max_model_len=flags["max_model_len"],
        enable_prefix_caching=flags["enable_prefix_caching"],
    )


class Replay:
    """One server, its stages one after the other, as the experiment ran them: what one stage cached the next finds."""

    def __init__(self, experiment: Experiment, efficiency: Efficiency) -> None:
        self._experiment = experiment
        self._clock = VirtualClock()
        engine = Engine(scheduler_config(experiment), step_time(experiment, efficiency), lockstep=True)
        self._driver = Driver(EngineCore(engine), self._clock, self._deliver)
        self._samples: dict[str, Sample] = {}

    def run(self, seconds: float = math.inf) -> list[Means]:
        """Means of each stage, which ends after so many seconds of arrivals at the latest."""
        means = []
        for number, stage in enumerate(self._experiment.stages):
            means.append(self._run_stage(number, stage, round(min(stage.num_requests, stage.rate * seconds))))
        return means

    def _run_stage(self, number: int, stage: Stage, num_requests: int) -> Means:
        self._samples.clear()
        start = self._clock.now() + PAUSE
        for index in range(num_requests):
            self._send(f"{number}-{index}", index, stage, start + index / stage.rate)
        self._clock.run()
        answered = [sample for sample in self._samples.values() if sample.done]
        ttft = sum(sample.ttft for sample in answered) / len(answered)
        e2e = sum(sample.e2e for sample in answered) / len(answered)
        return Means(ttft, (e2e - ttft) / (self._experiment.output_tokens - 1), e2e, num_requests - len(answered))

    def _send(self, request_id: str, index: int, stage: Stage, when: float) -> None:
        def arrive() -> None:
            request = Request(
                request_id,
                self._prompt(index, stage.prompt_tokens),
                self._experiment.output_tokens,
                Speech(len(self._samples) << 16),
                when,
            )
            self._samples[request_id] = Sample(request)
            self._driver.add(request)
            self._clock.call_at(when + GIVES_UP_AFTER, lambda: self._driver.abort(request))

        self._clock.call_at(when, arrive)

    def _prompt(self, index: int, length: int) -> Sequence[int]:
        """System prompt and question, in turn, stretched to the mean length that the server counted."""
        load = self._experiment
        system = index % load.num_system_prompts
        question = index % (load.num_system_prompts * load.questions_per_system_prompt)
        shared = round(length * load.system_tokens / (load.system_tokens + load.question_tokens))
        first = (1 + question) << 32
        return [*range(-(system + 1) << 32, (-(system + 1) << 32) + shared), *range(first, first + length - shared)]

    def _deliver(self, results: list[RequestOutput], now: float) -> None:
        for result in results:
            if result.finish_reason == "length":
                self._samples[result.request.request_id].done = True
