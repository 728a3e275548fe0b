"""How many parameters a model has, by part."""

from dataclasses import dataclass
from typing import ClassVar

from mockvllm.planning.mixture import Experts
from mockvllm.planning.shape import Latent, Shape


@dataclass(frozen=True, slots=True)
class Parameters:
    """Numbers of parameters. `active` is what one token passes through: the routed experts count per_token / number."""

    PARTS: ClassVar = ("embedding", "attention", "mlp", "experts", "router", "norms", "biases", "lm_head")

    embedding: int
    attention: int
    mlp: int
    experts: int
    router: int
    norms: int
    biases: int
    lm_head: int
    active_experts: int

    @property
    def total(self) -> int:
        return sum(self.parts().values())

    @property
    def active(self) -> int:
        return self.total - self.experts + self.active_experts

    def parts(self) -> dict[str, int]:
        return {name: getattr(self, name) for name in self.PARTS}


def count_parameters(shape: Shape) -> Parameters:
    """Every weight of the language model, to the last one (tied embeddings once, rotary tables not at all)."""
    experts = shape.experts
    routed = experts.layers * experts.number * 3 * shape.hidden * experts.size if experts else 0
    return Parameters(
        embedding=(shape.vocab + shape.positions) * shape.hidden,
        attention=shape.layers * _attention(shape),
        mlp=shape.dense_layers * _matrices(shape) * shape.hidden * shape.dense_size + _shared(shape),
        experts=routed,
        router=experts.layers * experts.number * shape.hidden if experts else 0,
        norms=_norms(shape),
        biases=_biases(shape),
        lm_head=0 if shape.tied else shape.vocab * shape.hidden,
        active_experts=routed // experts.number * experts.per_token if experts else 0,
    )


def _matrices(shape: Shape) -> int:
    return 3 if shape.family.gated_mlp else 2


def _attention(shape: Shape) -> int:
    sinks = shape.heads if shape.family.sinks else 0
    if shape.latent:
        return _latent_attention(shape, shape.latent) + sinks
    query = shape.heads * shape.head_dim
    key_value = 2 * shape.kv_heads * shape.head_dim
    return shape.hidden * (2 * query + key_value) + sinks


def _latent_attention(shape: Shape, latent: Latent) -> int:
    query = shape.heads * (latent.nope + latent.rope)
    queries = latent.query_rank * (shape.hidden + query) if latent.query_rank else shape.hidden * query
    down = shape.hidden * (latent.kv_rank + latent.rope)
    up = latent.kv_rank * shape.heads * (latent.nope + latent.value)
    return queries + down + up + shape.heads * latent.value * shape.hidden


def _shared(shape: Shape) -> int:
    experts = shape.experts
    if experts is None or not experts.shared_size:
        return 0
    gate = shape.hidden if shape.family.shared_gate else 0
    return experts.layers * (3 * shape.hidden * experts.shared_size + gate)


def _norms(shape: Shape) -> int:
    layer = shape.family.norms * shape.hidden * shape.family.norm_vectors
    if shape.latent:
        layer += shape.latent.query_rank + shape.latent.kv_rank
    if shape.qk_norm:
        vectors = 2 if shape.family.qk_norm == "head" else shape.heads + shape.kv_heads
        layer += vectors * shape.head_dim
    others = 2 if shape.family.embedding_norm else 1
    return shape.layers * layer + others * shape.hidden * shape.family.norm_vectors


def _biases(shape: Shape) -> int:
    mlp = shape.dense_size * (_matrices(shape) - 1) + shape.hidden if shape.mlp_bias else 0
    lm_head = shape.vocab if shape.lm_head_bias else 0
    experts = _expert_biases(shape, shape.experts) if shape.experts else 0
    return shape.layers * _attention_biases(shape) + shape.dense_layers * mlp + experts + lm_head


def _attention_biases(shape: Shape) -> int:
    out = shape.hidden if shape.out_bias else 0
    if not shape.qkv_bias:
        return out
    if shape.latent:
        return out + shape.latent.query_rank + shape.latent.kv_rank + shape.latent.rope
    return out + (shape.heads + 2 * shape.kv_heads) * shape.head_dim


def _expert_biases(shape: Shape, experts: Experts) -> int:
    router = experts.number if experts.router_bias else 0
    expert = 2 * experts.size + shape.hidden if shape.family.expert_bias else 0
    return experts.layers * (router + experts.number * expert)
