"""Which parser a name of `--reasoning-parser` stands for."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from mockvllm.answers.reasoning import DeepSeekR1ReasoningParser, NoReasoning, Qwen3ReasoningParser, ReasoningParser

MakeParser = Callable[[Mapping[str, object]], ReasoningParser]
"""Of the variables of the request's chat template (`chat_template_kwargs`)."""

_OWN: Mapping[str, MakeParser] = {"deepseek_r1": DeepSeekR1ReasoningParser, "qwen3": Qwen3ReasoningParser}
_NEAREST: Mapping[str, Sequence[str]] = {
    "deepseek_r1": (
        "cohere_command3", "cohere_command4", "deepseek_v3", "deepseek_v31", "deepseek_v4", "ernie45", "granite",
        "holo2", "kimi_k2", "kimi_k3", "minimax_m2", "minimax_m2_append_think", "minimax_m3", "mistral", "olmo3",
        "openai_gptoss", "poolside_v1", "seed_oss", "step3", "step3p5",
    ),
    "qwen3": (
        "exaone4", "gemma4", "glm45", "glm47", "hunyuan_a13b", "hy_v3", "inkling", "mimo", "nemotron_v3",
        "solar_open2",
    ),
}  # fmt: skip
"""vLLM's other parsers, by the one that stands in for them: the second can be told by the template not to think."""


class _Switch(NamedTuple):
    """Template variables of which any turns the reasoning on. `unsaid`: whether it is on if none of them is given."""

    variables: Sequence[str]
    unsaid: bool

    def is_on(self, variables: Mapping[str, object]) -> bool:
        said = [variables[name] for name in self.variables if variables.get(name) is not None]
        return any(said) if said else self.unsaid


_EITHER = ("thinking", "enable_thinking")
_SWITCHES: Mapping[str, _Switch] = {
    "deepseek_v3": _Switch(_EITHER, unsaid=False),
    "deepseek_v31": _Switch(_EITHER, unsaid=False),
    "deepseek_v4": _Switch(_EITHER, unsaid=False),
    "holo2": _Switch(_EITHER, unsaid=True),
    "kimi_k2": _Switch(("thinking",), unsaid=True),
}
"""Parsers without which all is content unless the request's template is told to let the model think."""


def _switched(parser: MakeParser, switch: _Switch) -> MakeParser:
    return lambda variables: parser(variables) if switch.is_on(variables) else NoReasoning()


def _maker(name: str, nearest: str) -> MakeParser:
    parser = _OWN[nearest]
    return _switched(parser, _SWITCHES[name]) if name in _SWITCHES else parser


REASONING_PARSERS = {
    **_OWN,
    **{name: _maker(name, nearest) for nearest, names in _NEAREST.items() for name in names},
}


def stand_in(name: str) -> str | None:
    """The parser that stands in for this one, None if it is itself."""
    return next((nearest for nearest, names in _NEAREST.items() if name in names), None)
