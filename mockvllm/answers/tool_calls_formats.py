"""Which format a name of `--tool-call-parser` stands for."""

from collections.abc import Mapping

from mockvllm.answers.tool_calls import ToolFormat
from mockvllm.answers.tool_calls_hermes import HERMES
from mockvllm.answers.tool_calls_llama import LLAMA3_JSON

_AS_HERMES = (
    "apertus", "cohere_command3", "cohere_command4", "deepseek_v3", "deepseek_v31", "deepseek_v32", "deepseek_v4",
    "ernie45", "functiongemma", "gemma4", "gigachat3", "glm45", "glm47", "granite4", "hunyuan_a13b", "hy_v3", "inkling",
    "jamba", "kimi_k2", "kimi_k3", "lfm2", "longcat", "mimo", "minicpm5", "minimax", "minimax_m2", "minimax_m3",
    "openai", "poolside_v1", "qwen3_coder", "qwen3_xml", "seed_oss", "solar_open2", "step3", "step3p5",
)  # fmt: skip
_AS_LLAMA = (
    "granite", "granite-20b-fc", "internlm", "llama4_pythonic", "mistral", "olmo3", "phi4_mini_json", "pythonic",
    "xlam",
)  # fmt: skip

TOOL_FORMATS: Mapping[str, ToolFormat] = {
    "hermes": HERMES,
    "llama3_json": LLAMA3_JSON,
    "llama4_json": LLAMA3_JSON,
    **dict.fromkeys(_AS_HERMES, HERMES),
    **dict.fromkeys(_AS_LLAMA, LLAMA3_JSON),
}
"""vLLM's parsers. The others have a syntax of their own: here calls are written and found in that of the nearest."""

_SAME_PARSER = {"llama4_json": "llama3_json"}


def stand_in(name: str) -> str | None:
    """The parser that stands in for this one, None if it is itself."""
    nearest = TOOL_FORMATS[name].name
    return None if nearest == _SAME_PARSER.get(name, name) else nearest
