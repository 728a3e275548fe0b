"""The config file and the environment: same flags, lower rank."""

from pathlib import Path

import pytest

from mockvllm.settings import Environment, Settings, SettingsError, load, parse

FILE = """
model: org/from-file
port: 81
served_model_name: [a, b]
enable-prefix-caching: false
enable-log-requests: true
disable-log-stats: false
kv-events-config: {publisher: zmq, enable_kv_cache_events: true}
allowed-origins: ["https://a"]
max-model-len: -1
ttft-ms: 250
chat-template: null
load-format: dummy
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "serve.yaml"
    path.write_text(FILE)
    return str(path)


def test_every_kind_of_value(file: str) -> None:
    settings = parse(["--config", file])
    assert settings == Settings(
        model_tag="org/from-file",
        config=file,
        port=81,
        served_model_name=("a", "b"),
        enable_prefix_caching=False,
        enable_log_requests=True,
        kv_events_config={"publisher": "zmq", "enable_kv_cache_events": True},
        allowed_origins=("https://a",),
        max_model_len=-1,
        ttft_ms=250.0,
        ignored={"load_format": "dummy"},
        notes=("accepted and ignored: --load-format, --enable-log-requests",),
    )


def test_the_command_line_wins_over_the_file_and_the_file_over_the_environment(file: str) -> None:
    environ = {
        "MOCKVLLM_TTFT_MS": "1",
        "MOCKVLLM_ITL_MS": "2",
        "MOCKVLLM_DIRECTIVES": "off",
        "MOCKVLLM_PORT": "tcp://x",
    }
    settings = parse(["m", "--port=82", f"--config={file}"], environ)
    assert (settings.model, settings.port) == ("m", 82)
    assert (settings.ttft_ms, settings.itl_ms, settings.directives) == (250.0, 2.0, False)
    assert settings.notes[0] == "Found duplicate keys --port"


def test_a_file_without_a_model_serves_the_default_model(tmp_path: Path) -> None:
    path = tmp_path / "a.yml"
    path.write_text("")
    assert parse(["--config", str(path)]).model == Settings().model


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", "{}", "Config file must be of a yaml/yml type. json supplied"),
        ("a.yaml", "a: [", "Unable to read the config file at"),
        ("a.yaml", "- port", "must hold keys and values, not list"),
        ("a.yaml", "prot: 81", "unrecognized arguments: --prot=81 (did you mean --port?)"),
        ("a.yaml", "port: x", "argument --port: invalid int value: 'x'"),
    ],
)
def test_a_wrong_file_is_one_line(tmp_path: Path, name: str, content: str, message: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(SettingsError) as caught:
        parse(["--config", str(tmp_path / name)])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_file_two_files_and_a_file_that_is_not_there(file: str) -> None:
    with pytest.raises(SettingsError, match="No config file specified! Please check your command-line arguments"):
        parse(["m", "--config"])
    with pytest.raises(SettingsError, match="More than one config file specified!"):
        parse(["--config", file, f"--config={file}"])
    with pytest.raises(SettingsError, match=r"Unable to read the config file at /nowhere\.yaml"):
        parse(["--config", "/nowhere.yaml"])


def test_a_wrong_word_in_the_environment_names_the_variable() -> None:
    with pytest.raises(SettingsError, match="MOCKVLLM_CONTROL: must be true or false, not 'maybe'"):
        parse([], {"MOCKVLLM_CONTROL": "maybe"})
    with pytest.raises(SettingsError, match="argument --ttft-ms: invalid float value: 'x'"):
        parse([], {"MOCKVLLM_TTFT_MS": "x"})


def test_vllms_variables() -> None:
    environ = {
        "VLLM_API_KEY": "k",
        "VLLM_SERVER_DEV_MODE": "1",
        "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "True",
        "VLLM_MAX_N_SEQUENCES": "7",
        "VLLM_LOG_STATS_INTERVAL": "-3",
        "VLLM_CONFIGURE_LOGGING": "0",
        "NO_COLOR": "",
        "OTHER": "x",
    }
    env = Environment.read(environ)
    assert env.VLLM_API_KEY == "k"
    assert env.VLLM_SERVER_DEV_MODE and env.VLLM_ALLOW_RUNTIME_LORA_UPDATING and env.NO_COLOR
    assert not env.VLLM_CONFIGURE_LOGGING
    assert env.VLLM_MAX_N_SEQUENCES == 7
    assert env.log_stats_interval == 10.0
    assert Environment.read({"VLLM_LOG_STATS_INTERVAL": "0.5"}).log_stats_interval == 0.5
    assert Environment.read({}) == Environment()


@pytest.mark.parametrize(
    ("text", "on"), [("1", True), ("True", True), ("2", True), ("0", False), ("false", False), ("", False)]
)
def test_switches_in_the_environment(text: str, on: bool) -> None:
    assert Environment.read({"VLLM_SERVER_DEV_MODE": text}).VLLM_SERVER_DEV_MODE is on


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("VLLM_SERVER_DEV_MODE", "yes", "VLLM_SERVER_DEV_MODE: cannot read 'yes'"),
        ("VLLM_LOGGING_LEVEL", "LOUD", "VLLM_LOGGING_LEVEL: cannot read 'LOUD'"),
        ("VLLM_MAX_STOP_STRINGS", "four", "VLLM_MAX_STOP_STRINGS: cannot read 'four'"),
        ("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", "-1", "VLLM_HTTP_TIMEOUT_KEEP_ALIVE: -1 is not in \\[0, inf\\)"),
    ],
)
def test_a_wrong_variable_is_named(name: str, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        load([], {name: text})
