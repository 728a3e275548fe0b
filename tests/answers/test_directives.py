import json

import pytest

from mockvllm.answers.directives import Directive, from_script, in_header, in_prompt


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
        ('[[mock {"say": "a", "delay": 1}]]', r"\[\[mock \.\.\.\]\]: unknown key 'delay', choose from say, finish"),
        ("[[mock " + "[" * 100_000, r"\[\[mock \.\.\.\]\] holds no JSON: maximum recursion depth"),
        ('[[mock {"say": ' + "[" * 100_000, r"\[\[mock \.\.\.\]\] holds no JSON: maximum recursion depth"),
    ],
)
def test_a_malformed_script_is_named(prompt: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        in_prompt(prompt)


def test_a_script_from_elsewhere_names_its_source() -> None:
    assert from_script(json.loads('{"say": "hola"}'), "header") == Directive("header", "hola")


def test_a_header_holds_a_script() -> None:
    assert in_header('{"say": "sí", "finish": "end"}'.encode()) == Directive("header", "sí", end_token=False)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"{bad", "holds no JSON: Expecting property name"),
        (b"", "holds no JSON"),
        (b"\xff", "holds no JSON"),
        (b"[" * 100_000, "holds no JSON: maximum recursion depth"),
        (b"5", "must be a JSON object, got 5"),
        (b'{"sy": "a"}', "unknown key 'sy'"),
    ],
)
def test_a_malformed_header_is_named(header: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=f"^X-Mock-Script:? {message}"):
        in_header(header)


@pytest.mark.parametrize("finish", [1, [], {"say": 1}, "Stop"])
def test_a_malformed_field_of_the_body_is_named(finish: object) -> None:
    with pytest.raises(ValueError, match=r"^mock: finish must be"):
        from_script({"finish": finish}, "body")


def test_what_is_wrong_is_shown_in_short() -> None:
    deep: object = 0
    for _ in range(5000):
        deep = [deep]
    for script in (deep, {"say": deep}, {"say": [0] * 1_000_000}, {"finish": "x" * 1_000_000}, {"x" * 1_000_000: 0}):
        with pytest.raises(ValueError, match=r"^mock") as error:
            from_script(script, "body")
        assert len(str(error.value)) < 200
