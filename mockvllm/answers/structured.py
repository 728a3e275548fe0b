"""Structured output: what constrains an answer, as a grammar of llguidance, with the errors that vLLM has for it."""

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

from mockvllm.answers.pattern_texts import texts
from mockvllm.answers.schema import UnsatisfiableError, instance_text
from mockvllm.answers.schema_merge import each, types_of
from mockvllm.answers.structured_pattern import without_assertions, without_lookaheads
from mockvllm.answers.structured_tag import structural_tag_grammar
from mockvllm.answers.structured_text import allows, shortest

MISSING = "structured outputs need the package llguidance: pip install 'mockvllm[structured]'"

_LONGEST_STRING = 512
_MOST_TEXTS = 16


class Constraint(NamedTuple):
    """`kind`: the member of `structured_outputs` that it was (`json`, `regex`, ...), `value` what that held.

    `behind`: the grammar holds behind the first such text alone (the end of the reasoning), if it is not empty.
    """

    kind: str
    value: Any
    grammar: str
    behind: str = ""


def constraint(kind: str, value: Any, *, any_whitespace: bool = True) -> Constraint:
    """Raises ValueError with vLLM's words for what is no grammar (those of its backend `guidance`).

    ImportError: llguidance is missing.
    """
    parsed = _parsed(kind, value)
    try:
        grammar = _grammar(kind, parsed, any_whitespace)
    except ImportError:
        raise
    except Exception as error:  # of the engine's converters, and of members of a wrong type
        raise ValueError(f"Invalid grammar specification: {error}") from None
    problem = _problem(grammar)
    if problem and kind == "json" and not _handed_to_guidance(parsed):
        grammar = _schema_grammar(without_lookaheads(parsed), any_whitespace, lenient=True)
        problem = _problem(grammar) and problem
    if problem:
        raise ValueError(f"Grammar error: {problem}")
    return Constraint(kind, parsed, grammar)


def _parsed(kind: str, value: Any) -> Any:
    """Schemas and structural tags may be given as JSON texts."""
    return json.loads(value) if kind in ("json", "structural_tag") and isinstance(value, str) else value


def _grammar(kind: str, value: Any, any_whitespace: bool) -> str:
    import llguidance  # an optional package

    if kind in ("json", "json_object"):
        return _schema_grammar({"type": "object"} if kind == "json_object" else value, any_whitespace)
    if kind == "structural_tag":
        return structural_tag_grammar(value)
    if kind == "choice":
        return llguidance.grammar_from("choice", json.dumps(value))
    return llguidance.grammar_from("regex" if kind == "regex" else "grammar", value)


def _schema_grammar(schema: Any, any_whitespace: bool, *, lenient: bool = False) -> str:
    """`lenient`: keywords that are not known constrain nothing."""
    from llguidance import LLMatcher

    return LLMatcher.grammar_from_json_schema(schema, {"whitespace_flexible": any_whitespace, "lenient": lenient})


def _handed_to_guidance(schema: object) -> bool:
    """Whether vLLM's first backend, xgrammar, leaves the schema to the second (`backend` auto).

    Elsewhere it ignores keywords that it does not know, and lookaheads in patterns, where guidance refuses them.
    """
    if isinstance(schema, list):
        return any(map(_handed_to_guidance, schema))
    if not isinstance(schema, dict):
        return False
    types = types_of(schema.get("type"))
    own = any(type_ in types and not keywords.isdisjoint(schema) for type_, keywords in _NOT_FOR_XGRAMMAR.items())
    odd = "string" in types and str(schema.get("format", "date")) not in _XGRAMMAR_FORMATS
    return own or odd or any(map(_handed_to_guidance, schema.values()))


_NOT_FOR_XGRAMMAR = {
    **dict.fromkeys(("integer", "number"), frozenset(("multipleOf",))),
    "array": frozenset(("uniqueItems", "contains", "minContains", "maxContains")),
    "object": frozenset(("patternProperties", "propertyNames")),
}
_XGRAMMAR_FORMATS = frozenset(
    (
        "email", "date", "time", "date-time", "duration", "ipv4", "ipv6", "hostname", "uuid", "uri", "uri-reference",
        "uri-template", "json-pointer", "relative-json-pointer",
    )
)  # fmt: skip


@lru_cache(maxsize=256)
def _problem(grammar: str) -> str:
    from llguidance import LLMatcher

    return LLMatcher.validate_grammar(grammar)


def default_text(wanted: Constraint, limit: int) -> str:
    """A short text that is allowed, of about `limit` characters at most."""
    if wanted.kind == "choice":
        return str(wanted.value[0])
    if wanted.kind == "json_object":
        return "{}"
    if wanted.kind == "json":
        with suppress(UnsatisfiableError):
            return instance_text(json.dumps(wanted.value))
    if wanted.kind == "regex":
        for text in islice(texts(wanted.value), _MOST_TEXTS):
            if allows(wanted.grammar, text):
                return text
    return shortest(wanted.grammar, limit, wanted.value if isinstance(wanted.value, str) else "").text


def string_like(schema: Mapping[str, Any]) -> Iterator[str]:
    """A string with the pattern (or patterns), format and length that a flat JSON schema asks for, if there is one.

    Where a pattern looks around, it may be wrong.
    """
    patterns = [without_assertions(pattern) for pattern in each(schema["pattern"])]
    limits = {key: schema[key] for key in ("minLength", "maxLength", "format") if key in schema}
    wanted = {"type": "string", "allOf": [{"pattern": pattern} for pattern in patterns], **limits}
    try:
        grammar = constraint("json", wanted).grammar
    except ValueError:
        return
    text, ended = shortest(grammar, _LONGEST_STRING, " ".join(patterns))
    if ended:
        yield json.loads(text)
