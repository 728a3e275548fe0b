"""Shapes by playbook: pieces in, pieces out, times included. No sockets, no sleeping."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mockvllm_client.wireshape import (
    Blocks,
    Chain,
    Ending,
    Events,
    Full,
    Pass,
    Piece,
    Shape,
    Split,
    Timed,
    Truncate,
    buffer,
    pour,
)

E1, E2, E3, E4 = (f"data: {n * 'x'}\n\n".encode() for n in (1, 2, 3, 4))


def play(
    shape: Shape, *pieces: tuple[float, bytes], end: tuple[float, Ending] | None = None
) -> list[tuple[float, bytes]]:
    """(time, bytes) of what leaves; an ending leaves as its name."""
    given = [Piece(at, data) for at, data in pieces]
    out = pour(shape, given if end is None else [*given, Piece(end[0], ending=end[1])])
    return [(piece.at, piece.ending.encode() if piece.ending else piece.data) for piece in out]


HEAD = (0.0, b"")
THREE = ((1.0, E1), (2.0, E2), (3.0, E3))
EOF = (4.0, Ending.EOF)
END = (4.0, b"eof")


def test_pass_holds_nothing() -> None:
    assert play(Pass(), HEAD, *THREE, end=EOF) == [HEAD, *THREE, END]


def test_full_holds_the_head_and_everything_to_the_end() -> None:
    assert play(Full(), HEAD, *THREE) == []
    assert play(Full(), HEAD, *THREE, end=EOF) == [(4.0, E1 + E2 + E3), END]
    assert play(Full(), end=EOF) == [END]


def test_blocks_leave_as_soon_as_they_are_full_and_cut_where_they_end() -> None:
    assert play(Blocks(4), (1.0, b"abc"), (2.0, b"defghijk"), (3.0, b"l"), end=EOF) == [
        (2.0, b"abcdefgh"),
        (3.0, b"ijkl"),
        END,
    ]
    assert play(Blocks(4), (1.0, b"abcdef"), end=EOF) == [(1.0, b"abcd"), (4.0, b"ef"), END]


def test_timed_counts_from_the_first_byte_held_and_needs_no_further_one() -> None:
    assert play(Timed(1.5), HEAD, *THREE, end=(9.0, Ending.EOF)) == [(2.5, E1 + E2), (4.5, E3), (9.0, b"eof")]
    shape = Timed(1.5)
    assert (shape.due, shape.feed(1.0, E1), shape.due) == (None, [], 2.5)
    assert (shape.wake(2.5), shape.due) == ([Piece(2.5, E1)], None)


def test_events_leave_in_groups_and_a_rest_waits() -> None:
    half, rest = E2[:5], E2[5:]
    assert play(Events(2), (1.0, E1 + half), (2.0, rest + E3[:3]), (3.0, E3[3:]), end=EOF) == [
        (2.0, E1 + E2),
        (4.0, E3),
        END,
    ]
    assert play(Events(1), (1.0, E1 + E2 + half), end=EOF) == [(1.0, E1 + E2), (4.0, half), END]


@pytest.mark.parametrize("eol", [b"\n", b"\r", b"\r\n"])
def test_events_know_every_line_ending(eol: bytes) -> None:
    one, two = E1.replace(b"\n", eol), E2.replace(b"\n", eol)
    assert play(Events(2), (1.0, one), (2.0, two)) == [(2.0, one + two)]


def test_split_cuts_at_offsets_of_the_whole_body() -> None:
    assert play(Split([1, 3, 4]), (1.0, b"ab"), (2.0, b"cdef")) == [
        (1.0, b"a"),
        (1.0, b"b"),
        (2.0, b"c"),
        (2.0, b"d"),
        (2.0, b"ef"),
    ]


def test_split_every_n_with_gaps_keeps_the_order() -> None:
    assert play(Split(every=2, gap=0.25), (1.0, b"abcde"), (1.1, b"f"), end=(1.2, Ending.CUT)) == [
        (1.0, b"ab"),
        (1.25, b"cd"),
        (1.5, b"e"),
        (1.75, b"f"),
        (2.0, b"cut"),
    ]


def test_truncate_ends_once_and_loses_the_rest() -> None:
    assert play(Truncate(3), (1.0, b"ab"), (2.0, b"cd"), (3.0, b"ef"), end=EOF) == [
        (1.0, b"ab"),
        (2.0, b"c"),
        (2.0, b"cut"),
    ]
    assert play(Truncate(2, Ending.RESET), (1.0, b"ab")) == [(1.0, b"ab"), (1.0, b"reset")]
    assert play(Truncate(9), (1.0, b"ab"), end=EOF) == [(1.0, b"ab"), END]


def test_a_chain_is_its_hops_in_order() -> None:
    both = E1 + E2
    assert play(Chain(Events(2), Split([10])), *THREE, end=EOF) == [(2.0, both[:10]), (2.0, both[10:]), (4.0, E3), END]
    assert play(Chain(Timed(1.5), Timed(2.0)), (1.0, E1), end=(9.0, Ending.EOF)) == [(4.5, E1), (9.0, b"eof")]
    assert play(Chain(), HEAD, *THREE, end=EOF) == [HEAD, *THREE, END]


def test_a_chain_is_due_when_its_first_hop_is() -> None:
    chain = Chain(Timed(2.0), Timed(0.5))
    chain.feed(1.0, E1)
    assert chain.due == 3.0
    assert (chain.wake(3.0), chain.due) == ([], 3.5)
    assert (chain.wake(3.5), chain.due) == ([Piece(3.5, E1)], None)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("off", [*THREE, END]),
        ("full", [(4.0, E1 + E2 + E3), END]),
        ("bytes:20", [(3.0, (E1 + E2 + E3)[:20]), (4.0, (E1 + E2 + E3)[20:]), END]),
        ("time:1500", [(2.5, E1 + E2), (4.0, E3), END]),
        ("events:3", [(3.0, E1 + E2 + E3), END]),
    ],
)
def test_buffers_by_name(name: str, expected: list[tuple[float, bytes]]) -> None:
    make = buffer(name)
    assert play(make(), *THREE, end=EOF) == expected
    assert play(make(), *THREE, end=EOF) == expected  # a fresh one each time


@pytest.mark.parametrize(
    "name", ["", "on", "bytes", "bytes:", "bytes:0", "bytes:-1", "bytes:1.5", "bytes:٣", "time:x", "full:1", "gzip:1"]
)
def test_other_names_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValueError, match="is none of off, full, bytes:N, time:MS, events:N") as refused:
        buffer(name)
    assert repr(name) in str(refused.value)


SHAPES = st.one_of(
    st.just(Pass),
    st.just(Full),
    st.integers(1, 40).map(lambda n: lambda: Blocks(n)),
    st.floats(0.01, 5).map(lambda s: lambda: Timed(s)),
    st.integers(1, 4).map(lambda n: lambda: Events(n)),
    st.tuples(st.integers(1, 9), st.floats(0, 0.5)).map(lambda p: lambda: Split(every=p[0], gap=p[1])),
    st.lists(st.integers(0, 99)).map(lambda offsets: lambda: Split(sorted(offsets))),
)
BODIES = st.lists(
    st.tuples(
        st.floats(0, 2), st.one_of(st.binary(max_size=12), st.sampled_from([E1, E2, E3, E4[:4], E4[4:], b"\r", b"\n"]))
    ),
    max_size=15,
)


@given(st.lists(SHAPES, max_size=3), BODIES, st.sampled_from(Ending))
def test_no_hop_loses_or_reorders_a_byte_or_speeds_one_up(
    makers: list[type[Shape]], body: list[tuple[float, bytes]], ending: Ending
) -> None:
    at, pieces = 0.0, []
    for pause, data in body:
        at += pause
        pieces.append(Piece(at, data))
    out = pour(Chain(*(make() for make in makers)), [*pieces, Piece(at + 1, ending=ending)])
    assert b"".join(piece.data for piece in out) == b"".join(data for _, data in body)
    assert all(earlier.at <= later.at for earlier, later in pairwise(out))
    assert [piece.ending for piece in out if piece.ending] == [ending]
    assert out[-1].ending is ending
    for sent in range(len(out)):  # a byte never leaves before it came
        left = sum(len(piece.data) for piece in out[:sent])
        came = sum(len(piece.data) for piece in pieces if piece.at <= out[sent].at)
        assert left + len(out[sent].data) <= came
