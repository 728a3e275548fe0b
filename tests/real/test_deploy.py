"""The examples of deploy/: the compose file holds together, its nginx configuration does what its comment says."""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import nginx
import pytest
import support
import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
DOCKERFILE = (DEPLOY.parent / "Dockerfile").read_text()
NGINX = (DEPLOY / "nginx.conf").read_text()


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(yaml.safe_load((DEPLOY / "docker-compose.yaml").read_text())["services"])


def container_ports(service: dict[str, Any]) -> set[str]:
    return {mapping.split(":")[1] for mapping in service["ports"]}


def test_the_server_s_port_is_the_image_s(services: dict[str, Any]) -> None:
    assert container_ports(services["mockvllm"]) == set(re.findall(r"^EXPOSE (\d+)", DOCKERFILE, re.MULTILINE))
    assert f"proxy_pass http://mockvllm:{min(container_ports(services['mockvllm']))};" in NGINX


def test_nginx_listens_where_its_port_is_mapped(services: dict[str, Any]) -> None:
    assert container_ports(services["nginx"]) == set(re.findall(r"listen (\d+);", NGINX))


def test_nginx_waits_for_the_image_s_health_check(services: dict[str, Any]) -> None:
    assert services["nginx"]["depends_on"] == {"mockvllm": {"condition": "service_healthy"}}
    assert "\nHEALTHCHECK " in DOCKERFILE


def test_every_path_exists(services: dict[str, Any]) -> None:
    assert (DEPLOY / services["mockvllm"]["build"] / "Dockerfile").exists()
    for volume in services["nginx"]["volumes"]:
        assert (DEPLOY / volume.split(":")[0]).is_file()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """deploy/nginx.conf, on free ports, in front of a folder with two files."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "open").write_text("open")
    (folder / "mock").mkdir()
    (folder / "mock" / "requests").write_text("secret")
    upstream, port = support.free_port(), support.free_port()
    argv = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "--directory", str(folder), str(upstream)]
    server = NGINX.replace("listen 80;", f"listen 127.0.0.1:{port};").replace("mockvllm:8000", f"127.0.0.1:{upstream}")
    with support.service(argv, upstream), nginx.running(server, port) as service:
        yield service.url


@nginx.needed
def test_nginx_passes_everything_but_the_control_api(gateway: str) -> None:
    assert httpx.get(f"{gateway}/open").text == "open"
    assert httpx.get(f"{gateway}/mock/requests").status_code == 404
