"""vLLM's log lines from start to readiness, as data: what is printed is decided here, printing is `write`'s."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, TextIO

from mockvllm.console import say
from mockvllm.planning.kv_cache import capacity, override_line
from mockvllm.profiles import NAMES, Profile
from mockvllm.server.embeddings import embeds
from mockvllm.server.log_format import LogFormat, Record
from mockvllm.settings import Environment, Settings
from mockvllm.settings.derive import Derived
from mockvllm.settings.non_default import non_default

LOGO = (
    "",
    "       █     █     █▄   ▄█",
    " ▄▄ ▄█ █     █     █ ▀▄▀ █  version {version}",
    "  █▄█▀ █     █     █     █  model   {model}",
    "   ▀▀  ▀▀▀▀▀ ▀▀▀▀▀ ▀     ▀",
    "",
)
SOURCES: Mapping[str, tuple[str, ...]] = {  # file and line of each message in 0.30, 0.32 and 0.33
    "logo": ("api_utils.py:347", "api_utils.py:347", "startup.py:38"),
    "arguments": ("api_utils.py:286", "api_utils.py:286", "startup.py:96"),
    "architecture": ("model.py:692", "model.py:733", "model.py:744"),
    "length": ("model.py:2030", "model.py:2152", "model.py:2170"),
    "scheduler": ("scheduler.py:288", "scheduler.py:307", "scheduler.py:310"),
    "engine": ("core.py:123", "core.py:133", "core.py:139"),
    "capacity": ("kv_cache_utils.py:2395", "kv_cache_utils.py:2327", "kv_cache_utils.py:1147"),
    "ready": ("core.py:379", "core.py:402", "core.py:412"),
    "tasks": ("entry.py:135", "entry.py:136", "entry.py:135"),
    "lora": ("api_router.py:28", "api_router.py:33", "api_router.py:33"),
    "development": ("__init__.py:44", "__init__.py:44", "__init__.py:44"),
    "scale_out": ("factories.py:76", "factories.py:89", "factories.py:105"),
    "template": ("hf.py:642", "hf.py:648", "hf.py:736"),
    "sampling": ("model.py:1772", "model.py:1893", "model.py:1907"),
    "address": ("entry.py:139", "entry.py:140", "entry.py:139"),
    "routes": ("launcher.py:61", "launcher.py:186", "launcher.py:188"),
    "route": ("launcher.py:70", "launcher.py:195", "launcher.py:197"),
    "ours": ("mockvllm.py:1",) * 3,
}
TORCH_DTYPES = {"auto": "bfloat16", "half": "float16", "float": "float32"}


@dataclass(frozen=True, slots=True)
class Startup:
    """What the lines say. `address` is the URL that is bound; `default_sampling_params` are those that the model's
    generation_config.json sets; `routes` are paths with their methods in the order of the application.
    """

    settings: Settings
    environment: Environment
    derived: Derived
    profile: Profile
    num_gpu_blocks: int
    address: str
    routes: Sequence[tuple[str, Sequence[str]]] = ()
    default_sampling_params: Mapping[str, Any] = field(default_factory=dict)
    computed_gpu_blocks: int | None = None
    architecture: str = "LlamaForCausalLM"
    content_format: str = "string"
    seconds: float = 0.0

    @property
    def engine_process(self) -> str:
        """Engines of data parallelism carry their rank."""
        rank = self.settings.data_parallel_rank or 0
        return f"EngineCore_DP{rank}" if self.settings.data_parallel_size > 1 else "EngineCore"

    def record(self, key: str, message: str, level: str = "INFO", process: str = "APIServer") -> Record:
        return Record(process, level, SOURCES[key][NAMES.index(self.profile.name)], message)


def startup_records(start: Startup) -> Iterator[Record]:
    """Every line from the logo to the routes, in vLLM's order."""
    yield from banner(start)
    yield from model(start)
    yield from engine(start)
    yield from frontend(start)
    yield from routes(start)


def banner(start: Startup) -> Iterator[Record]:
    """Notes about the flags, the logo and the flags themselves."""
    for note in start.settings.notes:
        yield start.record("ours", note, "WARNING")
    version, name = start.profile.version, start.settings.model
    short = f"vLLM server version {version}, serving model {name}"
    logo = short if start.environment.VLLM_DISABLE_LOG_LOGO else "\n".join(LOGO).format(version=version, model=name)
    yield start.record("logo", logo)
    yield start.record("arguments", f"non-default args: {non_default(start.settings)}")


def model(start: Startup) -> Iterator[Record]:
    """What is served, and how it is scheduled."""
    derived = start.derived
    yield start.record("architecture", f"Resolved architecture: {start.architecture}")
    yield start.record("length", f"Using max model len {derived.max_model_len}")
    if derived.enable_chunked_prefill:
        tokens = derived.max_num_batched_tokens
        yield start.record("scheduler", f"Chunked prefill is enabled with max_num_batched_tokens={tokens}.")
    if derived.async_scheduling:
        yield start.record("scheduler", "Asynchronous scheduling is enabled.")


def engine(start: Startup) -> Iterator[Record]:
    """The engine's own lines: what it was made from, its KV cache, how long it took."""
    derived = start.derived
    words = f"Initializing a V1 LLM engine (v{start.profile.version}) with config: {engine_config(start)}"
    kv_cache = capacity(start.num_gpu_blocks, derived.max_model_len, derived.block_size)
    yield start.record("engine", words, process=start.engine_process)
    override = start.settings.num_gpu_blocks_override
    if override is not None and start.computed_gpu_blocks is not None:
        yield start.record("capacity", override_line(start.computed_gpu_blocks, override), process=start.engine_process)
    yield start.record("capacity", kv_cache.log_line(), process=start.engine_process)
    took = f"init engine (profile, create kv cache, warmup model) took {start.seconds:.2f} s"
    yield start.record("ready", took, process=start.engine_process)


def engine_config(start: Startup) -> str:
    """vLLM's summary of its configuration: the values a mock knows, by vLLM's names and in its order."""
    settings, derived = start.settings, start.derived
    quoted = {"model": settings.model, "tokenizer": settings.tokenizer or settings.model}
    known = {
        "tokenizer_mode": settings.tokenizer_mode,
        "dtype": f"torch.{TORCH_DTYPES.get(settings.dtype, settings.dtype)}",
        "max_seq_len": derived.max_model_len,
        "tensor_parallel_size": settings.tensor_parallel_size,
        "pipeline_parallel_size": settings.pipeline_parallel_size,
        "data_parallel_size": settings.data_parallel_size,
        "quantization": settings.quantization,
        "enforce_eager": settings.enforce_eager,
        "kv_cache_dtype": settings.kv_cache_dtype,
        "seed": settings.seed,
        "served_model_name": settings.model_names[0],
        "enable_prefix_caching": derived.enable_prefix_caching,
        "enable_chunked_prefill": derived.enable_chunked_prefill,
    }
    return ", ".join([f"{k}={v!r}" for k, v in quoted.items()] + [f"{k}={v}" for k, v in known.items()])


def frontend(start: Startup) -> Iterator[Record]:
    """What the API server allows and warns about."""
    settings, environment = start.settings, start.environment
    tasks = ["token_embed", "embed"] if embeds(settings) else ["generate"]
    yield start.record("tasks", f"Supported tasks: {tasks}")
    if environment.VLLM_ALLOW_RUNTIME_LORA_UPDATING:
        yield start.record(
            "lora",
            "LoRA dynamic loading & unloading is enabled in the API server. "
            "This should ONLY be used for local development!",
            "WARNING",
        )
    if environment.VLLM_SERVER_DEV_MODE:
        text = "SECURITY WARNING: Development endpoints are enabled! This should NOT be used in production!"
        yield start.record("development", text, "WARNING")
    if not settings.enable_scale_out:
        verb = "Set" if start.profile.name == "0.30" else "Restart vllm serve with"
        text = f"Scale-out endpoints are disabled. {verb} --enable-scale-out to enable them."
        yield start.record("scale_out", text)
    if settings.chat_template_content_format == "auto":
        yield start.record(
            "template",
            f"Detected the chat template content format to be '{start.content_format}'. "
            "You can set `--chat-template-content-format` to override this.",
        )
    if start.default_sampling_params and settings.generation_config != "vllm":
        yield start.record("sampling", sampling_warning(start.default_sampling_params), "WARNING")


def sampling_warning(params: Mapping[str, Any]) -> str:
    """Said when the model brings defaults of sampling."""
    return (
        "Default vLLM sampling parameters have been overridden by the model's `generation_config.json`: "
        f"`{dict(params)}`. If this is not intended, please relaunch vLLM instance with `--generation-config vllm`."
    )


def routes(start: Startup) -> Iterator[Record]:
    """Where the server listens and what it answers."""
    yield start.record("address", f"Starting vLLM server on {start.address}")
    yield start.record("routes", "Available routes are:")
    for path, methods in start.routes:
        yield start.record("route", f"Route: {path}, Methods: {', '.join(methods)}")


def address(settings: Settings, port: int) -> str:
    """What vLLM calls the address it listens on; `port` is the one that is bound."""
    if settings.uds:
        return f"unix:{settings.uds}"
    host = settings.host or "0.0.0.0"
    scheme = "https" if settings.ssl_keyfile and settings.ssl_certfile else "http"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def write(records: Iterable[Record], log_format: LogFormat, stream: TextIO, now: datetime) -> None:
    """Print what the log level lets through, in one write."""
    say(stream, "".join(f"{line}\n" for record in records for line in log_format.lines(record, now)))
