import json

import pytest

from mockvllm.answers.directives import Directive, from_script, in_prompt


@pytest.mark.parametrize(
    ("prompt", "directive"),
    [
        ("hola", None),
        ("[[otra]] cosa", None),
        ("hola [[eos]]", Directive("eos")),
        ("[[say]]uno[[/say]]", Directive("say", "uno")),
        ("[[say]]uno[[/say]] y [[say]]dos\ntres[[/say]] [[eos]]", Directive("say", "dos\ntres")),
        ("[[say]][[/say]]", Directive("say", "")),
        ("[[say]]‹think›a‹/think›b[[/say]]", Directive("say", "<think>a</think>b")),
        ("[[say]]sin fin", None),
        ('antes [[mock {"say": "x]]y"}]] después', Directive("mock", "x]]y")),
        ('[[mock {"say": "a", "finish": "end"} ]]', Directive("mock", "a", end_token=False)),
        ("[[mock {}]]", Directive("mock", None)),
    ],
)
def test_what_a_prompt_says(prompt: str, directive: Directive | None) -> None:
    assert in_prompt(prompt) == directive


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ("[[mock hola]]", r"\[\[mock \.\.\.\]\] holds no JSON"),
        ('[[mock {"say": 1}]]', "say must be a string, got 1"),
        ('[[mock {"finish": "never"}]]', "finish must be"),
        ("[[mock [1]]]", r"must be a JSON object, got \[1\]"),
        ('[[mock {"say": "a"}', r"does not end with \]\]"),
    ],
)
def test_a_malformed_script_is_named(prompt: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_prompt(prompt)


def test_a_script_from_elsewhere_names_its_source() -> None:
    assert from_script(json.loads('{"say": "hola"}'), "header") == Directive("header", "hola")
