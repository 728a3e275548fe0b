"""vLLM's options of the server process and of the HTTP front end."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from mockvllm.settings.knob import knob
from mockvllm.settings.values import LoRAModulePath, json_strings, lora_module


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Options:
    """The server process."""

    config: str | None = knob(None, "YAML file with flags as keys; flags on the command line win")
    disable_log_stats: bool = knob(False, "no metrics and no periodic statistics line", switch=True)
    aggregate_engine_logging: bool = knob(False, "one statistics line for all engines", switch=True)
    shutdown_timeout: int = knob(0, "seconds to drain on SIGTERM", within="[0, inf)")
    enable_log_requests: bool = knob(False, "log every request")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class Frontend:
    """The HTTP front end: addresses, keys, what answers contain."""

    lora_modules: tuple[LoRAModulePath, ...] | None = knob(None, "adapters, name=path or JSON each", parse=lora_module)
    chat_template: str | None = knob(None, "chat template: a file, or the template in one line")
    chat_template_content_format: Literal["auto", "openai", "string"] = knob("auto", "how a template sees content")
    trust_request_chat_template: bool = knob(False, "let a request bring its own chat template")
    trust_request_mm_kwargs: bool = knob(False, "let a request set multi-modal processor arguments")
    default_chat_template_kwargs: Mapping[str, Any] | None = knob(None, "arguments every template gets")
    reasoning_effort_map: Mapping[str, Any] | None = knob(None, "template arguments by reasoning effort")
    response_role: str = knob("assistant", "role of the answer")
    return_tokens_as_token_ids: bool = knob(False, "tokens in logprobs as token_id:N")
    enable_auto_tool_choice: bool = knob(False, "allow tool_choice auto; needs --tool-call-parser")
    exclude_tools_when_tool_choice_none: bool = knob(False, "no tools in the prompt when tool_choice is none")
    tool_call_parser: str | None = knob(None, "how tool calls are found in the text")
    tool_strict_level: Literal["auto", "function", "parameter"] | None = knob(
        None, "how strictly tool calls follow their schema", by_profile={"0.32": "auto"}
    )
    max_log_len: int | None = knob(None, "characters or token ids of a prompt that are logged", within="[0, inf)")
    enable_prompt_tokens_details: bool = knob(False, "cached tokens in usage")
    enable_per_request_metrics: bool = knob(False, "timings in every answer; not with --disable-log-stats")
    enable_server_load_tracking: bool = knob(False, "count open requests for /load")
    enable_force_include_usage: bool = knob(False, "usage in every stream, in every event")
    sse_keep_alive_interval: int = knob(0, "seconds between comments in a silent stream; 0: none", within="[0, inf)")
    enable_tokenizer_info_endpoint: bool = knob(False, "serve /tokenizer_info")
    enable_log_outputs: bool = knob(False, "log answers; needs --enable-log-requests")
    enable_log_deltas: bool = knob(True, "with --enable-log-outputs, log each piece of a stream")
    anthropic_disabled_thinking_effort: Literal["auto", "high", "low", "max", "medium", "none", "xhigh"] = knob(
        "auto", "effort of /v1/messages when thinking is disabled"
    )
    log_error_stack: bool | None = knob(None, "log the stack of error answers; unset: VLLM_SERVER_DEV_MODE")
    tokens_only: bool = knob(False, "only the endpoint that takes and gives tokens")
    enable_scale_out: bool = knob(False, "serve render, derender and /inference")
    fingerprint_mode: Literal["custom", "full", "hash", "none"] = knob("full", "what system_fingerprint holds")
    fingerprint_value: str | None = knob(None, "system_fingerprint with --fingerprint-mode custom")
    host: str | None = knob(None, "address to bind; all interfaces when unset")
    port: int = knob(8000, "TCP port to bind; 0: any free one", within="[0, 65535]")
    uds: str | None = knob(None, "Unix socket to bind instead of host and port")
    uvicorn_log_level: Literal["critical", "debug", "error", "info", "trace", "warning"] = knob(
        "info", "log level of uvicorn"
    )
    disable_uvicorn_access_log: bool = knob(False, "no access log")
    disable_access_log_for_endpoints: str | None = knob(None, "paths without access log, by commas")
    allow_credentials: bool = knob(False, "CORS: allow credentials")
    allowed_origins: tuple[str, ...] = knob(
        (), "CORS: allowed origins", parse=json_strings, json=True, by_profile={"0.30": ("*",)}
    )
    allowed_methods: tuple[str, ...] = knob(("*",), "CORS: allowed methods", parse=json_strings, json=True)
    allowed_headers: tuple[str, ...] = knob(("*",), "CORS: allowed headers", parse=json_strings, json=True)
    api_key: tuple[str, ...] | None = knob(None, "keys, one of which a request must carry", secret=True)
    ssl_keyfile: str | None = knob(None, "TLS key file")
    ssl_certfile: str | None = knob(None, "TLS certificate file")
    root_path: str | None = knob(None, "path prefix a proxy in front strips or keeps")
    enable_request_id_headers: bool = knob(False, "X-Request-Id in every answer")
    disable_fastapi_docs: bool = knob(False, "no /docs, /redoc and /openapi.json")
