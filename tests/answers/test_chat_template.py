import json

import pytest

from mockvllm.answers.chat_template import ChatTemplate
from mockvllm.answers.prompt import NoRenderer, PlainRenderer, Rendering

TURNS = "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] | trim }}</>\n{% endfor %}"
GENERATE = TURNS + "{% if add_generation_prompt %}<assistant>{% endif %}"
USER = {"role": "user", "content": " hola "}
ASSISTANT = {"role": "assistant", "content": "Claro: "}
CONTINUE = Rendering(add_generation_prompt=False, continue_final_message=True)


def template(source: str = GENERATE) -> ChatTemplate:
    return ChatTemplate(source, {"bos_token": "<s>"})


def test_messages_and_generation_prompt() -> None:
    assert template().render([USER], Rendering()) == "<s><user>hola</>\n<assistant>"
    assert template().render([USER], Rendering(add_generation_prompt=False)) == "<s><user>hola</>\n"


@pytest.mark.parametrize(
    ("content", "prompt"),
    [
        ("Claro: ", "<s><user>hola</>\n<assistant>Claro:"),
        ("Claro", "<s><user>hola</>\n<assistant>Claro"),
        ("  Claro", "<s><user>hola</>\n<assistant>Claro"),
        ("hola", "<s><user>hola</>\n<assistant>hola"),
    ],
)
def test_the_final_message_is_left_open(content: str, prompt: str) -> None:
    assert template().render([USER, {"role": "assistant", "content": content}], CONTINUE) == prompt


def test_spaces_the_template_keeps_are_kept() -> None:
    keeping = template("{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}</>{% endfor %}")
    assert keeping.render([USER, ASSISTANT], CONTINUE) == "<user> hola </><assistant>Claro: "


def test_parts_are_left_open_behind_the_last() -> None:
    parts = template("{% for m in messages %}{% for p in m.content %}[{{ p.text }}]{% endfor %}{% endfor %}")
    content = [{"type": "text", "text": "uno"}, {"type": "text", "text": "dos"}]
    assert parts.takes_parts
    assert parts.render([{"role": "user", "content": content}], CONTINUE) == "[uno][dos"


def test_a_final_message_that_disappears_is_an_error() -> None:
    with pytest.raises(ValueError, match="the final message does not appear in the chat"):
        template("{{ bos_token }}").render([USER], CONTINUE)


@pytest.mark.parametrize("renderer", [template(), PlainRenderer()])
def test_generating_and_continuing_exclude_each_other(renderer: PlainRenderer | ChatTemplate) -> None:
    with pytest.raises(ValueError, match="are not compatible"):
        renderer.render([USER], Rendering(continue_final_message=True))


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("{{ tools | tojson }}", '[{"n": "ñ<&\'"}]'),
        ("{{ tools | tojson(indent=2) }}", '[\n  {\n    "n": "ñ<&\'"\n  }\n]'),
        ("{{ extra }}{{ tools is none }}{{ documents is none }}", "xFalseTrue"),
        ("{% for m in messages %}{% if loop.first %}{% continue %}{% endif %}{{ m }}{% endfor %}", ""),
        ("{{ strftime_now('%Y') | length }}", "4"),
        ("a\n    {%- if true %}\n    b\n    {%- endif %}\nc", "a    bc"),
        ("{% if true %}\n  b\n{% endif %}\nc", "  b\nc"),
    ],
)
def test_filters_names_and_white_space_are_those_of_transformers(source: str, text: str) -> None:
    how = Rendering(tools=[{"n": "ñ<&'"}], variables={"extra": "x"})
    assert template(source).render([USER], how) == text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("{{ raise_exception('no me gusta') }}", "no me gusta"),
        ("{{ messages[0].content.nope.nope }}", "has no attribute 'nope'"),
        ("{{ messages.append(1) }}", "unsafe"),
        ("{{ messages[0].content + none }}", "can only concatenate str"),
    ],
)
def test_what_a_template_says_against_messages_is_an_error(source: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        template(source).render([USER], Rendering())


def test_a_broken_template_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 'end of print statement'"):
        template("{{ messages ")


@pytest.mark.parametrize(
    ("source", "role"), [("{{ messages[0].role }}", "system"), ("{# developer #}{{ messages[0].role }}", "developer")]
)
def test_a_developer_is_the_system_to_who_knows_no_developers(source: str, role: str) -> None:
    assert template(source).render([{"role": "developer", "content": "x"}], Rendering()) == role


@pytest.mark.parametrize(
    ("source", "takes_parts"),
    [
        ("{% for m in messages %}{{ m.content }}{% endfor %}", False),
        ("{% for m in messages %}{% for c in m['content'] %}{{ c.text }}{% endfor %}{% endfor %}", True),
        ("{% for m in messages %}{% set content = m.content %}{% for c in content %}{% endfor %}{% endfor %}", True),
    ],
)
def test_a_template_that_walks_through_contents_gets_parts(source: str, takes_parts: bool) -> None:
    assert template(source).takes_parts is takes_parts


def test_without_a_template_the_prompt_has_the_words_of_the_messages() -> None:
    messages = [{"role": "system", "content": "uno dos"}, {"role": "user", "content": "tres"}]
    assert PlainRenderer().render(messages, Rendering()).split() == ["uno", "dos", "tres"]


def test_a_tokenizer_without_a_template_says_so() -> None:
    with pytest.raises(ValueError, match=r"^As of transformers v4\.44, default chat template is no longer allowed"):
        NoRenderer().render([USER], Rendering())


def test_arguments_of_a_call_are_rendered_as_an_object() -> None:
    call = {"function": {"name": "f", "arguments": {"ciudad": "Cádiz"}}}
    text = template("{{ messages[0].tool_calls[0].function.arguments | tojson }}").render(
        [{"role": "assistant", "content": "", "tool_calls": [call]}], Rendering()
    )
    assert json.loads(text) == {"ciudad": "Cádiz"}
