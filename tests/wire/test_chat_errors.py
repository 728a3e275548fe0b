import json

import pytest
from pydantic import TypeAdapter, ValidationError

from mockvllm.wire.body import parse_body
from mockvllm.wire.errors import APIError, invalid, sanitize, unknown_model
from mockvllm.wire.validation import Failure, bad_request, failures


def test_the_body_is_compact_and_in_order() -> None:
    assert APIError(400, 'ñ "x"', param="p").body() == (
        '{"error":{"message":"ñ \\"x\\"","type":"BadRequestError","param":"p","code":400}}'.encode()
    )


def test_a_parameter_and_its_value_end_the_message() -> None:
    assert invalid("No.").message == "No."
    assert invalid("No.", "n").message == "No. (parameter=n)"
    assert invalid("No.", "n", None).message == "No. (parameter=n, value=None)"


def test_an_unknown_model_is_told_the_known_ones() -> None:
    error = unknown_model("x", ["a", "b"], list_aliases=True)
    assert (error.status, error.type, error.param) == (404, "NotFoundError", "model")
    assert error.message == "The model `x` does not exist. Valid aliases: a, b."


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (" plain ", "plain"),
        ("<Thing object at 0x7f00aa>", "<Thing object>"),
        ("cannot open /home/me/model.bin now", "cannot open <path> now"),
        ("cannot open /etc/app/conf.toml", "cannot open <path>"),
        ("no /nope", "no /nope"),
        ("see https://example.org/a/b.html", "see https://example.org/a/b.html"),
        ('Traceback:\n  File "/x/y.py", line 3, in f\nKeyError', "Traceback:\n  KeyError"),
    ],
)
def test_messages_tell_nothing_of_the_machine(message: str, shown: str) -> None:
    assert sanitize(message) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (5, "'5'"),
        (None, "'None'"),
        ("it's", '"it\'s"'),
        ("a" * 201, "'" + "a" * 200 + "...[truncated]'"),
        ([1, 2], "'<list of 2 items>'"),
        ({}, "'<dict of 0 items>'"),
        (b"abc", "'<bytes of 3 bytes>'"),
    ],
)
def test_inputs_are_shown_shortly(value: object, shown: str) -> None:
    message = bad_request([Failure("kind", ("f", 0), "text", value)]).message
    assert message == f"1 validation error:\n  {{'type': 'kind', 'loc': 'body.f.0', 'msg': 'text', 'input': {shown}}}"


def test_at_most_ten_failures_are_shown() -> None:
    found = [Failure("kind", (f"f{i}",), "text", None) for i in range(12)]
    message = bad_request(found).message
    assert message.startswith("12 validation errors:\n  {'type'")
    assert message.endswith("'body.f9', 'msg': 'text', 'input': 'None'}\n  ...and 2 more errors")
    assert bad_request(found).param == "body.f0"


def test_long_lines_are_cut() -> None:
    line = bad_request([Failure("kind", (), "x" * 2000, None)], root="query").message.split("\n  ")[1]
    assert len(line) == 1000 + len("...[truncated]")


def test_what_is_pydantic_s_own_is_left_out_of_locations() -> None:
    with pytest.raises(ValidationError) as error:
        TypeAdapter(list[str | dict[str, int]]).validate_python([{"a": "x"}])
    assert [bad_request([failure]).param for failure in failures(error.value, "f")] == ["body.f.0", "body.f.0.a"]


@pytest.mark.parametrize(
    ("raw", "message", "param"),
    [
        (b"", "{'type': 'missing', 'loc': 'body', 'msg': 'Field required', 'input': 'None'}", "body"),
        (b"null", "{'type': 'missing', 'loc': 'body', 'msg': 'Field required', 'input': 'None'}", "body"),
        (b'"x"', "Input should be a valid dictionary or object to extract fields from', 'input': 'x'", "body"),
        (b'{"a": 1,}', "'ctx': {'error': 'Expecting property name enclosed in double quotes'}", "body.8"),
        ('{"ñ": }'.encode(), "'ctx': {'error': 'Expecting value'}", "body.6"),
        (b'{"a": "\xff"}', "There was an error parsing the body", None),
        (b"[" * 100_000, "There was an error parsing the body", None),
    ],
)
def test_bodies_that_are_no_object(raw: bytes, message: str, param: str | None) -> None:
    with pytest.raises(APIError) as error:
        parse_body(raw, b"application/json")
    assert message in error.value.message
    assert (error.value.status, error.value.type, error.value.param) == (400, "Bad Request", param)


@pytest.mark.parametrize(
    "raw", [b'{"a": NaN}', b'{"a": 1e400}', b'\xef\xbb\xbf{"a": 1}', b'{"a": "\\ud800"}', b'{"a":1,"a":2}']
)
def test_what_python_s_parser_takes_is_taken(raw: bytes) -> None:
    assert str(parse_body(raw, b"application/json")) == str(json.loads(raw))


@pytest.mark.parametrize(
    "content_type",
    [b"application/json", b"Application/JSON; charset=utf-8", b"application/json;", b"application/json;x"],
)
def test_json_by_any_spelling_is_json(content_type: bytes) -> None:
    assert parse_body(b"{}", content_type) == {}


@pytest.mark.parametrize(
    "content_type", [None, b"", b"text/plain", b"application/jsonx", b"application/json,", b"json"]
)
def test_other_content_types_are_refused_before_the_body_is_read(content_type: bytes | None) -> None:
    with pytest.raises(APIError, match="Unsupported Media Type: Only 'application/json' is allowed"):
        parse_body(b"{broken", content_type)


@pytest.mark.parametrize("content_type", [b"application/vnd.api+json", b"application/json ;x", b" application/json"])
def test_what_only_fastapi_takes_for_json_is_read_and_then_refused(content_type: bytes) -> None:
    for raw, message in ((b"{broken", "JSON decode error"), (b'{"a":"\xff"}', "There was an error parsing the body")):
        with pytest.raises(APIError, match=message):
            parse_body(raw, content_type)
    for raw in (b"{}", b""):
        with pytest.raises(APIError, match="Unsupported Media Type"):
            parse_body(raw, content_type)
