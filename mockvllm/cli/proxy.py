"""`mockvllm proxy`: stands in front of any HTTP server and holds its answers back as told."""

import argparse
import sys
from collections.abc import Sequence
from contextlib import suppress

from mockvllm_client.proxy import Proxy
from mockvllm_client.serving import address, bind, server
from mockvllm_client.wireshape import buffer

from mockvllm.cli.argtypes import BUFFERS, Parser, buffering, port, url


def main(argv: Sequence[str]) -> int:
    """Serve until interrupted; 2 if the address cannot be had."""
    options = parse(argv)
    try:
        sock = bind(options.host, options.port)
    except OSError as error:
        print(f"mockvllm proxy: cannot listen on {options.host} port {options.port}: {error.strerror}", file=sys.stderr)
        return 2
    print(f"proxy on {address(sock)} -> {options.upstream} (buffer: {options.buffer})", flush=True)
    with suppress(KeyboardInterrupt):  # how it is meant to end
        server(Proxy(options.upstream, buffer(options.buffer))).run(sockets=[sock])
    return 0


def parse(argv: Sequence[str]) -> argparse.Namespace:
    """The flags; exits 2 with one line about a wrong one."""
    parser = Parser("mockvllm proxy", allow_abbrev=False, description=__doc__)
    parser.add_argument("--upstream", type=url, required=True, metavar="URL", help="the server behind it")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (%(default)s)")
    parser.add_argument(
        "--port", type=port, default=8001, metavar="N", help="port to listen on, 0: a free one (%(default)s)"
    )
    parser.add_argument(
        "--buffer",
        type=buffering,
        default="off",
        metavar=BUFFERS,
        help="hold the response: not at all, until its end, until N bytes, MS milliseconds or N events are together "
        "(%(default)s)",
    )
    return parser.parse_args(argv)
