"""A real nginx, for the length of a block, as whatever user runs the tests."""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import support

PROGRAM = shutil.which("nginx", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
needed = pytest.mark.skipif(PROGRAM is None, reason="needs Debian's package nginx")

CONFIG = """
daemon off;
worker_processes 1;
pid {folder}/pid;
error_log stderr;
{user}
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {server}
}}
"""

SERVER = """
server {{
    listen 127.0.0.1:{port};
    location / {{
        proxy_pass {upstream};
        {directives}
    }}
}}
"""


@contextlib.contextmanager
def running(server: str, port: int) -> Iterator[support.Service]:
    """nginx with this `server` block, which listens on `port`."""
    assert PROGRAM is not None
    user = "user root;" if os.geteuid() == 0 else ""  # root's nginx would hand its temporary files to www-data
    with tempfile.TemporaryDirectory(prefix="mockvllm-nginx-") as folder:
        config = Path(folder, "nginx.conf")
        config.write_text(CONFIG.format(folder=folder, user=user, server=server))
        with support.service([PROGRAM, "-e", "stderr", "-p", folder, "-c", str(config)], port) as service:
            yield service


@contextlib.contextmanager
def in_front_of(upstream: str, *directives: str) -> Iterator[support.Service]:
    """nginx that passes everything to `upstream`, with more `directives` (without `;`) for that location."""
    port = support.free_port()
    server = SERVER.format(port=port, upstream=upstream, directives="; ".join([*directives, ""]))
    with running(server, port) as service:
        yield service
