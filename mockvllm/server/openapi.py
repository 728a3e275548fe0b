"""GET /openapi.json: what FastAPI knows of the routes, and the requests of those that read their body by themselves."""

from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, create_model
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from mockvllm.wire.batch_request import BatchChatCompletionRequest
from mockvllm.wire.chat_request import ChatCompletionRequest
from mockvllm.wire.completion_request import CompletionRequest
from mockvllm.wire.embeddings import EmbeddingChatRequest, EmbeddingCompletionRequest
from mockvllm.wire.fields import RequestModel
from mockvllm.wire.messages_api_request import AnthropicCountTokensRequest, AnthropicMessagesRequest
from mockvllm.wire.responses_request import ResponsesRequest
from mockvllm.wire.scoring import GenerativeScoringRequest
from mockvllm.wire.tokenize import DetokenizeRequest, TokenizeChatRequest, TokenizeCompletionRequest

REQUESTS: Mapping[str, Sequence[type[RequestModel]]] = {
    "/tokenize": (TokenizeCompletionRequest, TokenizeChatRequest),
    "/detokenize": (DetokenizeRequest,),
    "/invocations": (ChatCompletionRequest, CompletionRequest),
    "/v1/chat/completions": (ChatCompletionRequest,),
    "/v1/chat/completions/batch": (BatchChatCompletionRequest,),
    "/v1/responses": (ResponsesRequest,),
    "/v1/completions": (CompletionRequest,),
    "/v1/messages": (AnthropicMessagesRequest,),
    "/v1/messages/count_tokens": (AnthropicCountTokensRequest,),
    "/generative_scoring": (GenerativeScoringRequest,),
    "/v1/embeddings": (EmbeddingCompletionRequest, EmbeddingChatRequest),
}
"""What a POST to a path may hold: one of these."""
_MODE: JsonSchemaMode = "validation"


class DocumentedAPI(FastAPI):
    """Its document is made when it is first asked for: that takes longer than all the rest of a start."""

    def openapi(self) -> dict[str, Any]:
        if not self.openapi_schema:
            document = super().openapi()
            posts = {path: document["paths"][path]["post"] for path in REQUESTS if path in document["paths"]}
            schemas, definitions = _schemas({request for path in posts for request in REQUESTS[path]})
            for path, operation in posts.items():
                operation["requestBody"] = _body([schemas[request] for request in REQUESTS[path]])
            components = document.setdefault("components", {}).setdefault("schemas", {})
            components.update(definitions)
        return self.openapi_schema or {}


def _body(forms: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    schema = forms[0] if len(forms) == 1 else {"anyOf": forms}
    return {"content": {"application/json": {"schema": schema}}, "required": True}


def _schemas(requests: set[type[RequestModel]]) -> tuple[dict[type[RequestModel], Any], dict[str, Any]]:
    """A reference for each request, and what all the references stand for."""
    models = {request: _model(request) for request in sorted(requests, key=lambda request: request.__name__)}
    asked = [(model, _MODE) for model in models.values()]
    found, document = models_json_schema(asked, ref_template="#/components/schemas/{model}")
    return {request: found[model, _MODE] for request, model in models.items()}, document["$defs"]


def _model(request: type[RequestModel]) -> type[BaseModel]:
    """pydantic's model of the same fields."""
    declared: dict[str, Any] = {
        name: (field.annotation, getattr(request, name, ...)) for name, field in request.fields().items()
    }
    return create_model(request.__name__, __config__=ConfigDict(extra="allow"), __doc__=request.__doc__, **declared)
