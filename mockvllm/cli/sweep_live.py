"""A sweep against a server, sent and measured as `vllm bench serve` (0.33.0) does it."""

import asyncio
import sys
import uuid
from argparse import Namespace
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import uvloop
from mockvllm_client.ask import NoServerError, first_card
from mockvllm_client.bench import by_request, head, kept
from mockvllm_client.bodies import BACKENDS, Asked
from mockvllm_client.load import Planned, Reply, send
from mockvllm_client.measure import summarize
from mockvllm_client.prompts import Tokenizer, Vocabulary, learn, random_prompts
from mockvllm_client.stream import open_client

from mockvllm.cli.simulate_flags import arrivals, random_workload
from mockvllm.cli.sweep_flags import PROG, SAMPLING
from mockvllm.cli.sweep_run import METRICS, Measure, RunFailedError, Told, name
from mockvllm.simulation.admission import beyond_window
from mockvllm.simulation.result import load_keys
from mockvllm.simulation.workload import Workload


@contextmanager
def live(args: Namespace) -> Iterator[Measure]:
    """Raises ValueError for a prompt that the server cannot take, and when nobody is there."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        client = open_client(args.base_url, api_key=args.api_key, idle=args.timeout)
        client.headers.update(dict(args.header))
        try:
            server = runner.run(_meet(client, args))
            yield lambda point, told: runner.run(server.measure(point, told))
        except NoServerError as error:
            raise ValueError(str(error)) from error
        finally:
            runner.run(client.aclose())


async def _meet(client: httpx.AsyncClient, args: Namespace) -> "Server":
    url = args.base_url + _endpoint(args)
    model_id, called = args.model, args.served_model_name or args.model
    if model_id is None:
        card = await first_card(client, args.base_url)
        model_id, called = str(card.get("root") or card["id"]), args.served_model_name or str(card["id"])
    vocabulary = await learn(Tokenizer(client, args.base_url, called))
    return Server(client, url, model_id, _asked(args, called), vocabulary)


def _endpoint(args: Namespace) -> str:
    backend = BACKENDS[args.backend]
    path = str(args.endpoint or backend.endpoint)
    if not (path.startswith("/") and path.endswith(backend.ending)):
        raise ValueError(f"--endpoint {path}: of --backend {args.backend} is a path that ends in {backend.ending}")
    return path


def _asked(args: Namespace, model: str) -> Asked:
    given = {option.replace("-", "_"): getattr(args, option.replace("-", "_")) for option in SAMPLING}
    sampling = {field: value for field, value in given.items() if value is not None}
    return Asked(model=model, logprobs=args.logprobs, ignore_eos=args.ignore_eos, extra=sampling | args.extra_body)


@dataclass(frozen=True, slots=True)
class Server:
    client: httpx.AsyncClient
    url: str
    model_id: str
    asked: Asked
    vocabulary: Vocabulary

    async def measure(self, point: Namespace, told: Told | None) -> dict[str, Any]:
        """Raises RunFailedError when no request was answered; those that failed beside others are said on stderr."""
        load = await self._plan(point, random_workload(point, {0: 1.0}))
        if point.num_warmups:
            await send(self.client, self.url, [load[0]] * point.num_warmups, point.max_concurrency)
        replies, duration = await send(self.client, self.url, load, point.max_concurrency, told)
        _tell_failures(replies, name(point))
        records = [reply.record for reply in replies]
        summary = summarize(records, duration, metrics=METRICS, percentiles=point.percentiles, slo_ms=point.slo_ms)
        about = head(
            backend=point.backend,
            label=point.label,
            model_id=self.model_id,
            tokenizer_id=self.model_id,
            num_prompts=len(load),
            load=load_keys(arrivals(point), point.max_concurrency),
        )
        return about | summary.as_bench(kept(by_request(replies), point.save_detailed))

    async def _plan(self, point: Namespace, workload: Workload) -> list[Planned]:
        """What the prompts say differs from point to point: nothing of them is in the server's prefix cache."""
        self._check(workload)
        seed = f"{point.seed}:{name(point)}"
        lengths, prefix_len = workload.prompt_lens, point.random_prefix_len or 0
        prompts = await random_prompts(self.vocabulary, lengths, prefix_len, seed)
        prefix = point.request_id_prefix or f"bench-{uuid.uuid4().hex[:8]}-"
        backend = BACKENDS[point.backend]
        return [
            Planned(
                at=at,
                prompt_tokens=prompt_len,
                body=self.asked.body(backend, prompt, output_len),
                headers={"x-request-id": f"{prefix}{number}"},
            )
            for number, (at, prompt, prompt_len, output_len) in enumerate(
                zip(workload.arrivals, prompts, lengths, workload.output_lens, strict=True)
            )
        ]

    def _check(self, workload: Workload) -> None:
        for number, prompt_len in enumerate(workload.prompt_lens):
            limit = self.vocabulary.max_model_len
            refused = beyond_window(prompt_len, limit) if limit else None
            if refused:
                raise ValueError(f"request {number}: {refused}")


def _tell_failures(replies: Sequence[Reply], load: str) -> None:
    errors = Counter(reply.error for reply in replies if reply.error)
    if not errors:
        return
    most, number = errors.most_common(1)[0]
    which = "all" if errors.total() == len(replies) else f"{errors.total()} of"
    often = "" if number == errors.total() else f" ({number} of them)"
    line = f"{load}: {which} {len(replies)} requests failed: {' '.join(most.split())}{often}"
    if errors.total() == len(replies):
        raise RunFailedError(line)
    print(f"{PROG}: {line}", file=sys.stderr)
