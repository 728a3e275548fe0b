"""The decoder against the standard: its own examples, every line ending, every cut."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mockvllm_client.sse import Boundaries, Decoder, Event, LineSplitter


def decode(*chunks: bytes) -> list[Event]:
    decoder = Decoder()
    return [event for chunk in chunks for event in decoder.feed(chunk)]


def parts_of(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[start:stop] for start, stop in pairwise(edges)]


# Inputs and outcomes of the examples in the HTML standard, section "Interpreting an event stream".
@pytest.mark.parametrize(
    ("stream", "expected"),
    [
        (b"data: YHOO\ndata: +2\ndata: 10\n\n", [Event("YHOO\n+2\n10")]),
        (b": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
         [Event("first event", id="1"), Event("second event"), Event(" third event")]),
        (b"data\n\ndata\ndata\n\ndata:", [Event(""), Event("\n")]),
        (b"data:test\n\ndata: test\n\n", [Event("test"), Event("test")]),
        (b"event: add\ndata: 73857293\n\n", [Event("73857293", "add")]),
    ],
)  # fmt: skip
def test_the_standard_s_examples(stream: bytes, expected: list[Event]) -> None:
    assert decode(stream) == expected


@pytest.mark.parametrize("eol", [b"\n", b"\r", b"\r\n"])
def test_every_line_ending_gives_the_same_events(eol: bytes) -> None:
    stream = "event: e\ndata: uno\ndata: dós\n\n: c\n\ndata: tres\n\n".encode().replace(b"\n", eol)
    assert decode(stream) == [Event("uno\ndós", "e"), Event("tres")]
    assert decode(*(bytes([byte]) for byte in stream)) == decode(stream)


def test_an_event_leaves_with_the_cr_that_closes_it_and_the_lf_behind_adds_nothing() -> None:
    assert decode(b"data: a\r\n\r") == [Event("a")]
    assert decode(b"data: a\r\n\r", b"\n", b"data: b\r\n\r\n") == [Event("a"), Event("b")]
    assert decode(b"data: a\r", b"", b"\n\r", b"\n") == [Event("a")]


def test_one_byte_order_mark_is_dropped_at_the_start_only() -> None:
    bom = b"\xef\xbb\xbf"
    assert decode(bom + b"data: a\n\n") == [Event("a")]
    assert decode(bom[:1], bom[1:], b"data: a\n\n" + b"data: " + bom + b"b\n\n") == [Event("a"), Event("\ufeffb")]


@pytest.mark.parametrize("cut", [1, 2, 3])
@pytest.mark.parametrize("letter", ["你", "🫠", "ñ"])
def test_a_character_cut_between_reads_is_whole(letter: str, cut: int) -> None:
    stream = f"data: {letter}\n\n".encode()
    assert decode(stream[: 6 + cut], stream[6 + cut :]) == [Event(letter)]


def test_ids_stay_and_retry_must_be_digits() -> None:
    stream = b"id: 7\nretry: 150\ndata: a\n\nid: x\0y\nretry: 1s\ndata: b\n\nretry: 99999999999999999999\ndata: c\n\n"
    assert decode(stream) == [Event("a", id="7", retry=150), Event("b", id="7"), Event("c", id="7")]


def test_a_line_of_two_megabytes_in_small_reads_is_one_event() -> None:
    text = b"x" * (2 << 20)
    stream = b"data: " + text + b"\n\n"
    events = decode(*(stream[at : at + 1000] for at in range(0, len(stream), 1000)))
    assert [len(event.data) for event in events] == [len(text)]


def test_what_a_good_stream_does_not_have_is_counted() -> None:
    decoder = Decoder()
    decoder.feed(b": ping\n\ndata:\n\nevent: e\n\ndata: a\n\n<html>\nfield: 1\ndata: cut")
    decoder.close()
    counts = decoder.counts
    assert (counts.events, counts.comments, counts.empty) == (2, 1, 2)
    assert (counts.stray_lines, counts.stray_bytes, counts.sample) == (2, len("<html>field: 1"), "<html>")
    assert counts.unfinished


@pytest.mark.parametrize("rest", [b"", b"d", b"data", b"data: half", b":com", b"data: a\n"])
def test_a_cut_field_is_unfinished_and_not_stray(rest: bytes) -> None:
    decoder = Decoder()
    decoder.feed(rest)
    decoder.close()
    assert (decoder.counts.stray_lines, decoder.counts.unfinished) == (0, bool(rest))


def test_json_without_framing_is_stray_even_without_a_line_ending() -> None:
    decoder = Decoder()
    assert decoder.feed(b'{"error":{"message":"boom"}}') == []
    decoder.close()
    assert decoder.counts.sample == '{"error":{"message":"boom"}}'


ENDINGS = st.sampled_from(["\n", "\r", "\r\n"])
LINES = st.one_of(
    st.sampled_from(["", "data", ":", ": c", "id: 1", "event: x", "retry: 5", "stray"]),
    st.text(st.characters(exclude_characters="\r\n", exclude_categories=("Cs",)), max_size=12).map("data: {}".format),
)
STREAMS = st.lists(st.tuples(LINES, ENDINGS), max_size=20).map(lambda lines: "".join(a + b for a, b in lines).encode())
CUTS = st.lists(st.integers(0, 300), max_size=40)


@given(STREAMS, CUTS)
def test_any_cut_of_any_stream_gives_the_same_events_and_counts(stream: bytes, cuts: list[int]) -> None:
    whole, cut = Decoder(), Decoder()
    expected = whole.feed(stream)
    assert [event for part in parts_of(stream, cuts) for event in cut.feed(part)] == expected
    whole.close()
    cut.close()
    assert cut.counts == whole.counts


@given(st.binary(max_size=200), CUTS)
def test_lines_are_those_of_the_whole(data: bytes, cuts: list[int]) -> None:
    splitter = LineSplitter()
    lines = [line for part in parts_of(data, cuts) for line in splitter.feed(part)]
    text = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    assert [*lines, splitter.partial] == text.split(b"\n")


def offsets(stream: bytes, cuts: list[int]) -> list[int]:
    boundaries, seen, found = Boundaries(), 0, []
    for part in parts_of(stream, cuts):
        found += [seen + end for end in boundaries.feed(part)]
        seen += len(part)
    return found


@given(STREAMS)
def test_boundaries_lie_behind_each_block_and_nothing_is_lost_between_them(stream: bytes) -> None:
    ends = offsets(stream, [])
    pieces = parts_of(stream, ends)
    decoders = [Decoder().feed(piece) for piece in pieces[: len(ends)]]
    assert sum(map(len, decoders)) == len(decode(stream))
    assert all(len(events) <= 1 for events in decoders)


@given(STREAMS, CUTS)
@example(b"data: 0\r\n\r\n", [10])
def test_boundaries_do_not_depend_on_the_cuts(stream: bytes, cuts: list[int]) -> None:
    def blocks(ends: list[int]) -> list[bytes]:
        """Each block without the line feed that a CRLF may leave to the next one, or behind the last."""
        parts = [part.strip(b"\r\n") for part in parts_of(stream, ends)]
        return parts if parts and parts[-1] else parts[:-1]

    assert blocks(offsets(stream, cuts)) == blocks(offsets(stream, []))
