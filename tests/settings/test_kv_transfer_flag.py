"""`--kv-transfer-config`: vLLM's keys, defaults and complaints."""

import json
import subprocess

import pytest
import support

from mockvllm.settings import SettingsError, load, parse
from mockvllm.settings.kv_transfer import parse as parse_config

NIXL = {"kv_connector": "NixlConnector", "kv_role": "kv_both"}


def test_the_defaults_are_vllms() -> None:
    config = parse_config(NIXL)
    assert (config.kv_load_failure_policy, config.kv_ip, config.kv_port) == ("fail", "127.0.0.1", 14579)
    assert config.kv_connector_extra_config.kv_lease_duration == 30
    assert config.active
    assert not parse_config(None).active
    assert not parse_config({"kv_role": "kv_both"}).active


@pytest.mark.parametrize(
    ("role", "produces", "consumes"),
    [("kv_producer", True, False), ("kv_consumer", False, True), ("kv_both", True, True)],
)
def test_roles(role: str, produces: bool, consumes: bool) -> None:
    config = parse_config(NIXL | {"kv_role": role})
    assert (config.is_kv_producer, config.is_kv_consumer) == (produces, consumes)


def test_the_dotted_form_and_keys_of_other_connectors_are_read() -> None:
    flags = ["--kv-transfer-config.kv_connector", "NixlConnector", "--kv-transfer-config.kv_role", "kv_producer"]
    flags += ["--kv-transfer-config.kv_connector_extra_config.kv_lease_duration", "60"]
    flags += ["--kv-transfer-config.kv_connector_extra_config.backends+", "UCX"]
    settings, _ = load(flags, {})
    config = parse_config(settings.kv_transfer_config)
    assert (config.active, config.kv_connector_extra_config.kv_lease_duration) == (True, 60)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        (
            {"kv_role": "kv_x"},
            r"Unsupported kv_role: kv_x\. Supported roles are \('kv_producer', 'kv_both', 'kv_consumer'\)",
        ),
        ({"kv_role": None}, r"Please specify kv_role when kv_connector is set"),
        ({"kv_connector": 5}, r"Expected `str \| null`, got `int` - at `\$\.kv_connector`"),
        ({"kv_load_failure_policy": "ignore"}, r"Invalid enum value 'ignore' - at `\$\.kv_load_failure_policy`"),
        ({"role": "kv_both"}, r"unknown field `role`"),
        (
            {"kv_connector_extra_config": {"kv_lease_duration": 0}},
            r"> 0\.0 - at `\$\.kv_connector_extra_config\.kv_lease",
        ),
        ({"kv_connector_extra_config": []}, r"Expected `object`, got `array`"),
    ],
)
def test_what_cannot_be_is_named(changes: dict[str, object], complaint: str) -> None:
    with pytest.raises(SettingsError, match=r"--kv-transfer-config: .*" + complaint):
        load(["--kv-transfer-config", json.dumps(NIXL | changes)], {})


@pytest.mark.parametrize("value", ["NixlConnector", "[]", '{"kv_connector":"NixlConnector","kv_role":"x"}'])
def test_the_command_exits_2_with_one_line(value: str) -> None:
    argv = support.mockvllm("serve", "--port", str(support.free_port()), "--kv-transfer-config", value)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=30)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "--kv-transfer-config: " in done.stderr


def test_another_connector_is_named_as_without_effect() -> None:
    config = '{"kv_connector":"LMCacheConnectorV1","kv_role":"kv_both"}'
    (note,) = parse(["--kv-transfer-config", config]).notes
    assert (
        note == "--kv-transfer-config: kv_connector LMCacheConnectorV1 is accepted and ignored: only NixlConnector acts"
    )
    assert parse(["--kv-transfer-config", '{"kv_connector":"NixlConnector","kv_role":"kv_both"}']).notes == ()
