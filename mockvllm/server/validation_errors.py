"""What FastAPI itself finds wrong with a query, a path or a body, answered as vLLM answers it: 400, never 422."""

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError

from mockvllm.wire.validation import Failure, bad_request


async def answer_validation_error(request: Request, error: Exception) -> Response:
    """The handler of RequestValidationError."""
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    root = str(found[0]["loc"][0])
    answer = bad_request([_failure(**detail) for detail in found], root)
    return Response(answer.body(), answer.status, media_type="application/json")


def _failure(
    type: str, loc: tuple[int | str, ...], msg: str, input: object, ctx: dict[str, object] | None = None
) -> Failure:
    return Failure(type, loc[1:], msg, input, ctx)
