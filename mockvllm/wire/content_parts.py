"""The parts a message's content may consist of, as vLLM 0.30 to 0.33 validates them; names show in error texts."""

from collections.abc import Iterable
from typing import Literal, Required

from typing_extensions import TypedDict


class ChatCompletionContentPartTextParam(TypedDict, total=False):
    text: Required[str]
    type: Required[Literal["text"]]


class ImageURL(TypedDict, total=False):
    url: Required[str]
    detail: Literal["auto", "low", "high", "original"]


class ChatCompletionContentPartImageParam(TypedDict, total=False):
    image_url: Required[ImageURL]
    type: Required[Literal["image_url"]]


class InputAudio(TypedDict, total=False):
    data: Required[str]
    format: Required[Literal["wav", "mp3"]]


class ChatCompletionContentPartInputAudioParam(TypedDict, total=False):
    input_audio: Required[InputAudio]
    type: Required[Literal["input_audio"]]


class FileFile(TypedDict, total=False):
    file_data: str
    file_id: str
    filename: str


class File(TypedDict, total=False):
    file: Required[FileFile]
    type: Required[Literal["file"]]


class ChatCompletionContentPartRefusalParam(TypedDict, total=False):
    refusal: Required[str]
    type: Required[Literal["refusal"]]


ContentPart = (
    ChatCompletionContentPartTextParam
    | ChatCompletionContentPartImageParam
    | ChatCompletionContentPartInputAudioParam
    | File
)
TextParts = str | Iterable[ChatCompletionContentPartTextParam]
