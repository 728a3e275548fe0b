"""Subscribers on real sockets."""

from collections.abc import Callable

import zmq

from mockvllm.server.kv_publisher import END_SEQ

TIMEOUT_MS = 5_000
Socket = zmq.Socket[bytes]
Connect = Callable[[int, str | None], Socket]


def context() -> zmq.Context[Socket]:
    return zmq.Context.instance()


def replay(dealer: Socket, first: int) -> list[list[bytes]]:
    """All answers to one request, the end marker last."""
    dealer.send_multipart((b"", first.to_bytes(8, "big")))
    answers = [dealer.recv_multipart()]
    while answers[-1][2] != END_SEQ:
        answers.append(dealer.recv_multipart())
    return answers


def replay_until(dealer: Socket, count: int) -> list[list[bytes]]:
    """All kept batches, as soon as there are `count` of them."""
    while len(answers := replay(dealer, 0)) <= count:
        pass
    return answers[:-1]
