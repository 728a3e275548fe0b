"""Fields that a release lacks, or that refuse null there."""

from collections.abc import Callable
from typing import Any

import chat_client
import completion_client
import pytest

from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.errors import APIError

ENDPOINTS: list[tuple[Callable[[str], Any], Callable[..., APIError], Callable[..., Any]]] = [
    (chat_client.words, chat_client.refusal, chat_client.whole),
    (completion_client.completions, completion_client.refusal, completion_client.whole),
]


@pytest.mark.parametrize(("make", "refusal", "whole"), ENDPOINTS, ids=["chat", "completions"])
@pytest.mark.parametrize(
    ("field", "refusing"), [("skip_special_tokens", ("0.30", "0.32")), ("watermarking", ("0.30",)), ("top_p", ())]
)
@pytest.mark.parametrize("profile", ["0.30", "0.32", "0.33"])
def test_null(profile: str, field: str, refusing: tuple[str, ...], make: Any, refusal: Any, whole: Any) -> None:
    if profile in refusing:
        error = refusal(make(profile), **{field: None})
        assert (error.type, error.param) == ("Bad Request", f"body.{field}")
        assert "'type': 'bool_type'" in error.message
    else:
        assert whole(make(profile), max_tokens=1, **{field: None})
    assert whole(make(profile), max_tokens=1, **{field: True})


@pytest.mark.parametrize(("make", "refusal", "whole"), ENDPOINTS, ids=["chat", "completions"])
@pytest.mark.parametrize(
    ("field", "known"),
    [("return_weight_versions", ("0.33",)), ("mm_payload", ("0.32", "0.33")), ("cache_salt", ("0.30", "0.32", "0.33"))],
)
def test_what_a_release_lacks_may_be_anything(
    field: str, known: tuple[str, ...], make: Any, refusal: Any, whole: Any
) -> None:
    for profile in ("0.30", "0.32", "0.33"):
        if profile in known:
            assert refusal(make(profile), **{field: {}}).param in (field, f"body.{field}")
        else:
            assert whole(make(profile), max_tokens=1, **{field: {}})


def test_narrowed_fields_stand_where_they_stood() -> None:
    narrow = ChatCompletionRequest.without_null(("skip_special_tokens", "watermarking"))
    assert list(narrow.fields()) == list(ChatCompletionRequest.fields())
    assert narrow.__name__ == ChatCompletionRequest.__name__
    assert ChatCompletionRequest.without_null(()) is ChatCompletionRequest
