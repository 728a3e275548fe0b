"""Flags of the commands that start at once (argparse): what is wrong with one is said in one line, and exits 2."""

import math
import sys
from argparse import ArgumentParser, ArgumentTypeError, _ArgumentGroup
from typing import NoReturn

from mockvllm_client.wireshape import buffer

Group = _ArgumentGroup  # what argparse has no public name for
BUFFERS = "off|full|bytes:N|time:MS|events:N"


class Parser(ArgumentParser):
    """Says what is wrong without repeating all flags."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: error: {message}   ({self.prog} --help)", file=sys.stderr)
        raise SystemExit(2)


def url(text: str) -> str:
    """A server's URL, without a trailing slash or `/v1`."""
    from mockvllm_client.ask import base_url  # brings httpx, which a command that asks nobody need not wait for

    try:
        return base_url(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error


def buffering(text: str) -> str:
    """The name of a buffer that `wireshape.buffer` knows."""
    try:
        buffer(text)
    except ValueError as error:
        raise ArgumentTypeError(str(error)) from error
    return text


def header(text: str) -> tuple[str, str]:
    """A header as `KEY=VALUE`."""
    name, equals, value = text.partition("=")
    if not (name and equals and (text.isascii() and text.isprintable())) or not set(name).isdisjoint(" :"):
        raise ArgumentTypeError(f"{text!r} is no KEY=VALUE")
    return name.lower(), value


def positive(text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise ArgumentTypeError(f"{text!r} is no whole number above 0")
    return int(text)


def seconds(text: str) -> float:
    """A duration above 0."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ArgumentTypeError(f"{text!r} is no number of seconds above 0")
    return value


def port(text: str) -> int:
    """A TCP port; 0 stands for a free one."""
    if not (text.isascii() and text.isdigit() and int(text) < 65536):
        raise ArgumentTypeError(f"{text!r} is no port (0 to 65535)")
    return int(text)
