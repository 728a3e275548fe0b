"""How long a step takes on real GPUs: what it must read, compute and exchange, at shares of the hardware's limits.

One set of constants serves every model; `docs/timing.md` says where each comes from and how far it holds.
"""

from dataclasses import dataclass, field

from mockvllm.engine.output import SchedulerOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelShape:
    """What of a model decides how long a step takes. Bytes and FLOP are those of the whole model.

    `weight_bytes` are read by every step (all but the embedding table and routed experts); `weight_flops` are per
    token. Of `num_experts` in each mixture layer a token uses `experts_per_token`: `expert_bytes` are of all of them,
    `expert_flops` those of a token. `kv_bytes` are per token, `kv_heads` per layer; `query_size`: heads x head size.
    `sliding_kv_share`: share of `kv_bytes` that is in layers which attend to the last `window` tokens only.
    """

    layers: int
    hidden_size: int
    query_size: int
    kv_heads: int
    kv_bytes: float
    weight_bytes: float
    weight_flops: float
    num_experts: int = 0
    experts_per_token: int = 0
    expert_bytes: float = 0.0
    expert_flops: float = 0.0
    activation_bytes: int = 2
    sliding_kv_share: float = 0.0
    window: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Devices:
    """GPUs that share each layer (tensor parallel): bytes per second from memory, dense FLOP per second, bytes per
    second to the other GPUs in one direction; of each."""

    count: int
    memory_bandwidth: float
    flops: float
    link_bandwidth: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Efficiency:
    """The constants: shares of the hardware's limits (0 to 1) and overheads (seconds)."""

    weights: float = 0.873  # of the memory bandwidth
    kv_cache: float = 0.941  # of the memory bandwidth, with many KV heads on a GPU
    kv_heads_lost: float = 3.01  # reading h heads takes as long as h + this many
    compute: float = 0.5  # of the dense FLOP/s
    link: float = 0.8  # of the bandwidth to the other GPUs
    all_reduce: float = 6.1e-6  # for each further GPU, twice a layer
    step: float = 1.54e-3  # scheduling, launching and sampling that nothing hides
    front_end: float = 6.32e-3  # tokenizing, passing on, writing the first token: before and after the engine
    front_end_sequence: float = 7.7e-5  # more of it for each running sequence


@dataclass(frozen=True, slots=True)
class Batch:
    """A step in figures. `kv_tokens`: KV cache read, over all sequences; `attention_pairs`: query x key positions."""

    tokens: float
    kv_tokens: float
    attention_pairs: float


@dataclass(frozen=True, slots=True)
class Roofline:
    """`StepTime` of a model on given GPUs (`--step-time roofline`)."""

    model: ModelShape
    devices: Devices
    efficiency: Efficiency = field(default_factory=Efficiency)

    def seconds(self, output: SchedulerOutput) -> float:
        """An empty batch takes no time."""
        return self.batch_seconds(self._figures(output)) if output.num_seqs else 0.0

    def front_end_seconds(self, num_running: int) -> float:
        """What a client waits for its first token beyond the engine, with so many requests running."""
        return self.efficiency.front_end + self.efficiency.front_end_sequence * num_running

    def batch_seconds(self, batch: Batch) -> float:
        return self.efficiency.step + self._matrices(batch) + self._attention(batch) + self._exchange(batch)

    def _figures(self, output: SchedulerOutput) -> Batch:
        share, window = self.model.sliding_kv_share, self.model.window
        kv_tokens: float = output.num_kv_tokens
        if share:
            in_window = sum(min(context, window) for _, context in output.contexts())
            kv_tokens = (1 - share) * kv_tokens + share * in_window
        return Batch(output.total_num_scheduled_tokens, kv_tokens, output.num_attention_pairs)

    def _matrices(self, batch: Batch) -> float:
        """Weights are read once a step, those of an expert if any token chose it; every token computes with its own."""
        model = self.model
        bytes_read, flops = model.weight_bytes, model.weight_flops
        if model.num_experts:
            missed = (1 - model.experts_per_token / model.num_experts) ** batch.tokens
            bytes_read += model.expert_bytes * (1 - missed)
            flops += model.expert_flops
        read = bytes_read / (self.devices.memory_bandwidth * self.efficiency.weights)
        compute = flops * batch.tokens / (self.devices.flops * self.efficiency.compute)
        return max(read, compute) / self.devices.count

    def _attention(self, batch: Batch) -> float:
        """The KV cache is read once a step, the less efficiently the fewer KV heads a GPU has."""
        model, devices = self.model, self.devices
        heads = max(1.0, model.kv_heads / devices.count)
        bytes_read = batch.kv_tokens * model.kv_bytes * heads / model.kv_heads
        lost = 1 + self.efficiency.kv_heads_lost / heads
        read = bytes_read * lost / (devices.memory_bandwidth * self.efficiency.kv_cache)
        flops = 4 * model.query_size * model.layers * batch.attention_pairs
        return max(read, flops / (devices.count * devices.flops * self.efficiency.compute))

    def _exchange(self, batch: Batch) -> float:
        """Two all-reduces a layer, each a ring: a latency for each further GPU, and the activations over the link."""
        further = self.devices.count - 1
        if not further:
            return 0.0
        activations = batch.tokens * self.model.hidden_size * self.model.activation_bytes
        sent = 2 * further / self.devices.count * activations
        transfer = sent / (self.devices.link_bandwidth * self.efficiency.link)
        return 2 * self.model.layers * (self.efficiency.all_reduce * further + transfer)
