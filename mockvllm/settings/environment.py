"""The environment variables of vLLM that a mock can honour, as one typed record."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Self, get_args

from mockvllm.settings.errors import SettingsError
from mockvllm.settings.knob import knob, knob_of
from mockvllm.settings.values import LogLevel

LEVELS = get_args(LogLevel)


def truth(text: str) -> bool:
    """`true`, `false` or a number, of which 0 alone is false; ValueError for anything else."""
    word = text.strip().lower()
    return word == "true" if word in ("true", "false", "") else int(word) != 0


def level(text: str) -> str:
    """The name of a log level in any case; ValueError for anything else."""
    if text.upper() not in LEVELS:
        raise ValueError(text)
    return text.upper()


@dataclass(frozen=True, slots=True, repr=False)
class Environment:
    """Fields are named as the variables. vLLM's defaults."""

    VLLM_API_KEY: str | None = knob(None, "key a request must carry, unless --api-key is given", secret=True)
    VLLM_SERVER_DEV_MODE: bool = knob(False, "serve the development endpoints")
    VLLM_ALLOW_RUNTIME_LORA_UPDATING: bool = knob(False, "serve /v1/load_lora_adapter and /v1/unload_lora_adapter")
    VLLM_ENABLE_RESPONSES_API_STORE: bool = knob(False, "keep the answers of /v1/responses")
    VLLM_SKIP_MODEL_NAME_VALIDATION: bool = knob(False, "accept any model name")
    VLLM_MAX_N_SEQUENCES: int = knob(16384, "largest n of a request", within="[1, inf)")
    VLLM_MAX_COMPLETION_PROMPTS: int = knob(1024, "most prompts of one /v1/completions", within="[1, inf)")
    VLLM_MAX_STOP_STRINGS: int = knob(4, "most stop strings of a request", within="[0, inf)")
    VLLM_MAX_NUM_BAD_WORDS: int = knob(128, "most bad_words of a request", within="[0, inf)")
    VLLM_LOG_STATS_INTERVAL: float = knob(10.0, "seconds between statistics lines; 0 or less: 10")
    VLLM_LOGGING_LEVEL: str = knob("INFO", "least level that is logged", parse=level)
    VLLM_LOGGING_STREAM: str = knob("ext://sys.stdout", "where log lines go: ext://sys.stdout or ext://sys.stderr")
    VLLM_LOGGING_PREFIX: str = knob("", "put in front of the level of every line")
    VLLM_LOGGING_COLOR: str = knob("auto", "colours: auto (on a terminal), 1 or 0")
    VLLM_CONFIGURE_LOGGING: bool = knob(True, "0: no log lines of vLLM's")
    VLLM_DISABLE_LOG_LOGO: bool = knob(False, "one line instead of the logo")
    VLLM_REQUEST_BODY_LOG_LEVEL: str = knob("DEBUG", "level at which request bodies are logged", parse=level)
    VLLM_DEBUG_LOG_API_SERVER_RESPONSE: bool = knob(False, "log whole answers")
    VLLM_HTTP_TIMEOUT_KEEP_ALIVE: int = knob(5, "seconds an idle connection stays open", within="[0, inf)")
    VLLM_KEEP_ALIVE_ON_ENGINE_DEATH: bool = knob(False, "stay up when the engine has died")
    VLLM_DISABLE_REQUEST_ID_RANDOMIZATION: bool = knob(False, "internal ids without a random end")
    VLLM_ALLOW_LONG_MAX_MODEL_LEN: bool = knob(False, "allow a context longer than the model's")
    VLLM_NIXL_SIDE_CHANNEL_HOST: str = knob("localhost", "host in kv_transfer_params, where a prefill server listens")
    VLLM_NIXL_SIDE_CHANNEL_PORT: int = knob(
        5600, "port in kv_transfer_params; the data-parallel rank is added", within="[0, 65535]"
    )
    VLLM_DP_RANK: int = knob(0, "rank of this server's engine", within="[0, inf)")
    VLLM_DP_SIZE: int = knob(1, "engines of all servers", within="[1, inf)")
    NO_COLOR: bool = knob(False, "no colours, whatever the value but 0", parse=lambda text: text != "0")

    @classmethod
    def read(cls, environ: Mapping[str, str]) -> Self:
        """From a process environment. Raises SettingsError for a value that cannot be read or is out of range."""
        return cls(
            **{
                declared.name: _value(declared.name, _reader(declared.type, knob_of(declared).parse), environ)
                for declared in fields(cls)
                if declared.name in environ
            }
        )._checked()

    def _checked(self) -> Self:
        for declared in fields(self):
            allowed, value = knob_of(declared).within, getattr(self, declared.name)
            if allowed and value not in allowed:
                raise SettingsError(f"{declared.name}: {value} is not in {allowed.text}")
        return self

    @property
    def log_stats_interval(self) -> float:
        """Seconds between statistics lines."""
        return self.VLLM_LOG_STATS_INTERVAL if self.VLLM_LOG_STATS_INTERVAL > 0 else 10.0


def _reader(annotation: Any, parse: Callable[[str], Any] | None) -> Callable[[str], Any]:
    kind = next((arg for arg in get_args(annotation) if arg is not type(None)), annotation)
    return parse or (truth if kind is bool else kind)


def _value(name: str, read: Callable[[str], Any], environ: Mapping[str, str]) -> Any:
    try:
        return read(environ[name])
    except ValueError:
        raise SettingsError(f"{name}: cannot read {environ[name]!r}") from None
