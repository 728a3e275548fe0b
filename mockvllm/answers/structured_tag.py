"""Structural tags (xgrammar's JSON, as vLLM 0.30 to 0.33 takes it) as a grammar of llguidance."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from mockvllm.answers.structured_pattern import without_lookaheads

Format = Mapping[str, Any]


def structural_tag_grammar(tag: Mapping[str, Any]) -> str:
    """Both forms of a structural tag. Raises ValueError (or KeyError, naming a member that is missing)."""
    writer = _Writer()
    start = writer.write(tag["format"] if "format" in tag else _legacy(tag))
    return "\n".join((f"start: {start}", *writer.rules))


def as_format(kind: str, value: Any) -> dict[str, Any]:
    """Any other constraint as a part of a structural tag."""
    if kind == "choice":
        return {"type": "or", "elements": [{"type": "const_string", "value": text} for text in value]}
    if kind == "regex":
        return {"type": "regex", "pattern": value}
    if kind == "grammar":
        return {"type": "grammar", "grammar": value}
    if kind == "structural_tag":
        tag_ = json.loads(value)
        return dict(tag_["format"] if "format" in tag_ else _legacy(tag_))
    schema = {"type": "object"} if kind == "json_object" else json.loads(value) if isinstance(value, str) else value
    return {"type": "json_schema", "json_schema": schema}


def triggered_tags(tags: Sequence[Format], triggers: Sequence[str], **options: Any) -> dict[str, Any]:
    """Free text in which a trigger begins one of the tags."""
    return {"type": "triggered_tags", "triggers": triggers, "tags": tags, **options}


def tag(begin: str, schema: object, end: str) -> dict[str, Any]:
    """JSON between two texts."""
    return {"type": "tag", "begin": begin, "content": {"type": "json_schema", "json_schema": schema}, "end": end}


def _legacy(tag_: Mapping[str, Any]) -> Format:
    triggers, structures = tag_["triggers"], tag_["structures"]
    if not structures:
        raise ValueError("No structural tags found in the grammar spec.")
    return triggered_tags([tag(item["begin"], item["schema"], item["end"]) for item in structures], triggers)


class _Writer:
    """Writes expressions, and the rules that they need."""

    def __init__(self) -> None:
        self.rules: list[str] = []

    def write(self, format: Format) -> str:
        kind = format["type"]
        if kind not in _WRITERS:
            raise ValueError(f"a format of type {kind!r} is not modelled here")
        return _WRITERS[kind](self, format)

    def rule(self, body: str, attribute: str = "") -> str:
        name = f"rule_{len(self.rules)}"
        self.rules.append(f"{name}{attribute}: {body}")
        return name

    def text(self, excludes: Iterable[str] = ()) -> str:
        """A terminal: any text that does not contain one of `excludes`."""
        without = "".join(f" & ~/(.|\\n)*{_escaped(text)}(.|\\n)*/" for text in excludes)
        return self.terminal(f"/(.|\\n)*/{without}")

    def terminal(self, body: str) -> str:
        """An expression of texts and regular expressions alone; empty if it is nothing."""
        if not body:
            return ""
        name = f"TERMINAL_{len(self.rules)}"
        self.rules.append(f"{name}: {body}")
        return name

    def json_schema(self, format: Format) -> str:
        """Of a schema in a tag xgrammar ignores what it does not know."""
        if format.get("style", "json") != "json":
            raise ValueError(f"the style {format['style']!r} of a json_schema is not modelled here")
        schema = {} if format["json_schema"] is True else without_lookaheads(format["json_schema"])
        return self.rule("%json " + json.dumps({**schema, "x-guidance": {"lenient": True}}))

    def any_text(self, format: Format) -> str:
        return self.text(format.get("excludes", ()))

    def grammar(self, format: Format) -> str:
        from llguidance.gbnf_to_lark import any_to_lark

        lark = re.sub(r"^%llguidance.*$", "", any_to_lark(format["grammar"]), flags=re.MULTILINE)
        return self.rule(f"%lark {{\n{lark}\n}}")

    def regex(self, format: Format) -> str:
        from llguidance import regex_to_lark

        return self.rule(f"/{regex_to_lark(format['pattern'])}/")

    def sequence(self, format: Format) -> str:
        return " ".join(filter(None, map(self.write, format["elements"])))

    def alternatives(self, format: Format) -> str:
        return self.rule(" | ".join(map(self.write, format["elements"])))

    def tag(self, format: Format, trigger: str = "") -> str:
        """The tag behind its trigger. Free text in it is over where the end stands first."""
        begin = _quoted(format["begin"].removeprefix(trigger))
        content, ends = format["content"], format["end"]
        end = self.terminal(" | ".join(map(_quoted, [ends] if isinstance(ends, str) else ends)))
        if content["type"] == "any_text":
            return self.rule(f"{begin} {self.rule(f'{self.any_text(content)} {end}', '[lazy]')}")
        return self.rule(f"{begin} {self.write(content)} {end}")

    def triggered_tags(self, format: Format) -> str:
        excludes, first = format.get("excludes", ()), format.get("stop_after_first", False)
        tagged, tail = self._in_text(format, excludes), self.text(excludes)
        if not format.get("at_least_one", False):
            return f"({tagged} | {tail})" if first else f"({tagged})* {tail}"
        one = self.rule(" | ".join(map(self.tag, format["tags"])))
        return one if first else f"{one} ({tagged})* {tail}"

    def _in_text(self, format: Format, excludes: Iterable[str]) -> str:
        """A tag, with the free text before it: a trigger in it is the beginning of the tag."""
        by_trigger: dict[str, list[Format]] = {}
        for item in format["tags"]:
            by_trigger.setdefault(_trigger(item["begin"], format["triggers"]), []).append(item)
        text = self.text(excludes)
        ways = []
        for trigger, items in by_trigger.items():
            before = self.rule(f"{text} {_quoted(trigger)}", "[lazy]")
            behind = self.rule(" | ".join(self.tag(item, trigger) for item in items))
            ways.append(f"{before} {behind}")
        return self.rule(" | ".join(ways))

    def tags_with_separator(self, format: Format) -> str:
        one = self.rule(" | ".join(map(self.tag, format["tags"])))
        several = one if format.get("stop_after_first") else f"{one} ({_quoted(format['separator'])} {one})*"
        return several if format.get("at_least_one") else f"({several})?"

    def repeated(self, format: Format) -> str:
        content = self.rule(self.write(format["content"]))
        if format["type"] != "repeat":
            return content + {"optional": "?", "plus": "+", "star": "*"}[format["type"]]
        least, most = format["min"], format["max"]
        return f"{content}{{{least},{'' if most < 0 else most}}}"


_WRITERS: Mapping[str, Callable[[_Writer, Format], str]] = {
    "const_string": lambda _, format: _quoted(format["value"]),
    "json_schema": _Writer.json_schema,
    "any_text": _Writer.any_text,
    "grammar": _Writer.grammar,
    "regex": _Writer.regex,
    "sequence": _Writer.sequence,
    "or": _Writer.alternatives,
    "tag": _Writer.tag,
    "triggered_tags": _Writer.triggered_tags,
    "tags_with_separator": _Writer.tags_with_separator,
    "optional": _Writer.repeated,
    "plus": _Writer.repeated,
    "star": _Writer.repeated,
    "repeat": _Writer.repeated,
}


def _trigger(begin: str, triggers: Sequence[str]) -> str:
    for trigger in triggers:
        if begin.startswith(trigger):
            return trigger
    raise ValueError(f"Trigger {begin} not found in triggers {triggers}")


def _quoted(text: str) -> str:
    return json.dumps(text) if text else ""


def _escaped(text: str) -> str:
    return re.sub(r"[.^$*+?{}\[\]\\|()/]", r"\\\g<0>", text).replace("\n", "\\n")
