"""Which paths generate, and what serves them."""

from mockvllm.server.backend import Backend
from mockvllm.server.batch import BatchServing
from mockvllm.server.completions import CompletionServing
from mockvllm.server.generation import Generation
from mockvllm.server.invocations import Invocations
from mockvllm.server.responses_generation import ResponsesGeneration
from mockvllm.server.scoring import ScoringServing


def generation_endpoints(backend: Backend) -> dict[str, Generation]:
    """By path, in the order in which vLLM registers them."""
    chat, config = backend.chat, backend.chat.config
    completions = CompletionServing(config)
    invocations = Invocations({"ChatCompletionRequest": chat, "CompletionRequest": completions})
    return {
        "/invocations": Generation(backend, invocations.prepare, tells_load=True, keeps_alive=True),
        "/v1/chat/completions": Generation(backend, chat.prepare, tells_load=True, keeps_alive=True),
        "/v1/chat/completions/batch": Generation(backend, BatchServing(config).prepare),
        "/v1/responses": ResponsesGeneration(backend),
        "/v1/completions": Generation(backend, completions.prepare, tells_load=True, keeps_alive=True),
        "/v1/messages": Generation(backend, backend.messages.prepare),
        "/generative_scoring": Generation(backend, ScoringServing(config).prepare),
    }
