"""What a request may only ask of a server that was started for it."""

from collections.abc import Sequence

from mockvllm.profiles.wire import WireRules
from mockvllm.wire.chat_request import ChatCompletionNamedToolChoiceParam, ChatCompletionRequest
from mockvllm.wire.errors import invalid, unknown_model

_DISABLED = (
    "Per-request {field} are disabled by default because they can change multimodal {what} resource usage. "
    "Start the server with --trust-request-mm-kwargs only when clients are trusted."
)


def tool_choice(request: ChatCompletionRequest) -> str | ChatCompletionNamedToolChoiceParam:
    """`none`, `auto`, `required` or the function; who gives tools and says nothing of a choice means `auto`."""
    if not request.tools:
        return "none"
    return request.given.get("tool_choice", "auto") or "none"


def check_tool_parser(request: ChatCompletionRequest, parser: str | None) -> None:
    """`parser`: --tool-call-parser, which is none without --enable-auto-tool-choice, whatever the choice."""
    choice = tool_choice(request)
    if parser or choice == "none":
        return
    if choice == "auto":
        raise invalid('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
    if choice == "required":
        raise invalid('tool_choice="required" requires --tool-call-parser to be set')
    if not isinstance(choice, str):
        name = choice.function.name
        raise invalid(f'tool_choice=function "{name}" requires --tool-call-parser to be set')


def check_model(model: str | None, names: Sequence[str], rules: WireRules) -> None:
    """A request without a name means the base model."""
    if model and model not in names:
        raise unknown_model(model, list(names), list_aliases=rules.valid_aliases_in_404)


def check_chat_template(request: ChatCompletionRequest) -> None:
    if request.chat_template is not None or (request.chat_template_kwargs or {}).get("chat_template") is not None:
        raise invalid(
            "Chat template is passed with request, but --trust-request-chat-template is not set. "
            "Refused request with untrusted chat template."
        )


def check_mm_kwargs(request: ChatCompletionRequest) -> None:
    if request.media_io_kwargs:
        message = _DISABLED.format(field="media_io_kwargs", what="media loading")
        raise invalid(message, "media_io_kwargs")
    if request.mm_processor_kwargs:
        message = _DISABLED.format(field="mm_processor_kwargs", what="preprocessing")
        raise invalid(message, "mm_processor_kwargs")
