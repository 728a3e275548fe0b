"""`mockvllm verify-weights`: the lesson's cases, manifests as sha256sum has them, files that are not what they seem."""

import hashlib
import json
import os
import pty
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import support
from figures import Run, refusal, run
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mockvllm.planning import hashing
from mockvllm.planning.manifest import Entry, ManifestError, parse_manifest, printable
from mockvllm.planning.weights import verify

FILES = {
    "config.json": b"{}",
    "model-00001.safetensors": b"\0" * 5000,
    "sub/tokenizer.json": "á".encode(),
    "empty": b"",
}


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def write_manifest(directory: Path, text: str | bytes | None = None) -> str:
    """Write `SHA256SUMS`, by default of all there is; gives its hash."""
    if text is None:
        files = sorted(path for path in directory.rglob("*") if path.is_file())
        text = "".join(f"{sha(path.read_bytes())}  {path.relative_to(directory)}\n" for path in files)
    data = text if isinstance(text, bytes) else text.encode()
    (directory / "SHA256SUMS").write_bytes(data)
    return sha(data)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        path = tmp_path / "revision" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return tmp_path / "revision"


def check(directory: Path, pin: str, *words: str) -> Run:
    return run("verify-weights", directory, "--manifest-sha256", pin, *words)


EMPTY = {"failed": [], "unlisted": [], "missing": [], "unreadable": [], "reasons": {}}


def test_intact(directory: Path) -> None:
    pin = write_manifest(directory)
    done = check(directory, pin)
    assert (done.status, done.err) == (0, "")
    assert done.out == "SHA256SUMS: OK\nok: 4 files read, 0.000 GB\n"
    assert check(directory, pin.upper(), "--json").json == {"ok": True, "manifest": True, **EMPTY}


def test_one_byte_appended(directory: Path) -> None:
    pin = write_manifest(directory)
    with (directory / "model-00001.safetensors").open("ab") as file:
        file.write(b"x")
    done = check(directory, pin)
    assert done.status == 1
    assert "model-00001.safetensors: FAILED (has another hash)\n" in done.out
    verdict = check(directory, pin, "--json").json
    assert (verdict["ok"], verdict["manifest"], verdict["failed"]) == (False, True, ["model-00001.safetensors"])


def test_a_file_that_is_not_listed(directory: Path) -> None:
    pin = write_manifest(directory)
    (directory / "chat_template.jinja").write_text("{{ evil }}", "utf-8")
    done = check(directory, pin)
    assert done.status == 1
    assert "chat_template.jinja: not in SHA256SUMS\n" in done.out
    assert check(directory, pin, "--json").json["unlisted"] == ["chat_template.jinja"]


def test_a_manifest_made_again_is_refused_before_any_file_is_read(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pin = write_manifest(directory)
    (directory / "config.json").write_text("[]", "utf-8")
    write_manifest(directory)
    monkeypatch.setattr("mockvllm.planning.weights.hash_files", lambda *_: pytest.fail("a file was read"))
    done = check(directory, pin)
    assert done.status == 1
    assert "SHA256SUMS: FAILED (has another hash than the pinned one)\n" in done.out
    verdict = check(directory, pin, "--json").json
    assert (verdict["manifest"], verdict["failed"]) == (False, [])


def test_all_that_is_wrong_is_said_at_once(directory: Path) -> None:
    pin = write_manifest(directory)
    (directory / "config.json").unlink()
    (directory / "empty").write_text("x")
    (directory / "sub/tokenizer.json").unlink()
    (directory / "sub/tokenizer.json").symlink_to("tokenizer.json")  # to itself: cannot be read
    (directory / "loop").symlink_to("loop")
    verdict = check(directory, pin, "--json").json
    assert verdict["missing"] == ["config.json"]
    assert verdict["failed"] == ["empty"]
    assert verdict["unreadable"] == ["sub/tokenizer.json"]
    assert verdict["reasons"]["sub/tokenizer.json"] == "Too many levels of symbolic links"
    assert verdict["unlisted"] == ["loop"]


def test_files_that_cannot_be_read_are_all_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = write_manifest(directory)
    opened = os.open

    def refuse(path: str, flags: int) -> int:
        if path.endswith(".json"):
            raise PermissionError(13, "Permission denied")
        return opened(path, flags)

    monkeypatch.setattr("mockvllm.planning.hashing.os.open", refuse)
    done = check(directory, pin)
    assert done.status == 1
    assert (
        "config.json: unreadable (Permission denied)\nsub/tokenizer.json: unreadable (Permission denied)\n" in done.out
    )


def test_a_directory_that_cannot_be_listed_is_named(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pin = write_manifest(directory)
    listed = os.scandir

    def refuse(path: Path) -> "Iterator[os.DirEntry[str]]":
        if path.name == "sub":
            raise PermissionError(13, "Permission denied")
        return listed(path)

    monkeypatch.setattr("mockvllm.planning.weights.os.scandir", refuse)
    assert check(directory, pin, "--json").json["unreadable"] == ["sub"]


def test_no_manifest_is_a_failure(directory: Path) -> None:
    assert check(directory, sha(b"")).status == 1
    (directory / "SHA256SUMS").mkdir()
    done = check(directory, sha(b""))
    assert (done.status, done.out.splitlines()[0]) == (1, "SHA256SUMS: FAILED (is no regular file)")


def test_a_manifest_of_nothing_lists_everything_as_strange(directory: Path) -> None:
    verdict = check(directory, write_manifest(directory, ""), "--json").json
    assert sorted(verdict["unlisted"]) == sorted(FILES)


class TestLinksAndSpecialFiles:
    def test_a_link_within_the_directory_is_followed(self, directory: Path) -> None:
        (directory / "link.json").symlink_to("sub/tokenizer.json")
        assert check(directory, write_manifest(directory)).status == 0

    def test_a_link_that_leaves_it_is_not(self, directory: Path) -> None:
        outside = directory.parent / "blob"
        outside.write_bytes(b"blob")
        (directory / "model.bin").symlink_to("../blob")
        pin = write_manifest(directory)
        verdict = check(directory, pin, "--json").json
        assert verdict["failed"] == ["model.bin"]
        assert verdict["reasons"] == {"model.bin": "is a link that leaves the directory"}
        assert check(directory, pin, "--allow-links-outside").status == 0
        outside.write_bytes(b"other")
        assert check(directory, pin, "--allow-links-outside", "--json").json["failed"] == ["model.bin"]

    def test_a_link_to_a_directory_is_not_followed(self, directory: Path) -> None:
        (directory / "also").symlink_to("sub")
        pin = write_manifest(directory, f"{sha('á'.encode())}  also/tokenizer.json\n")
        verdict = check(directory, pin, "--json").json
        assert verdict["reasons"] == {"also/tokenizer.json": "lies behind a link to a directory"}
        assert "also" in verdict["unlisted"]

    def test_a_link_to_nothing_is_missing(self, directory: Path) -> None:
        pin = write_manifest(directory)
        (directory / "empty").unlink()
        (directory / "empty").symlink_to("nowhere")
        assert check(directory, pin, "--json").json["missing"] == ["empty"]

    def test_a_pipe_is_never_waited_for(self, directory: Path) -> None:
        pin = write_manifest(directory)
        (directory / "empty").unlink()
        os.mkfifo(directory / "empty")
        os.mkfifo(directory / "stray")
        verdict = check(directory, pin, "--json").json
        assert verdict["reasons"] == {"empty": "is no regular file"}
        assert verdict["unlisted"] == ["stray"]
        assert hashing.hash_file(str(directory / "empty"), lambda count: None).error == "is no regular file"

    def test_a_socket_or_a_directory_is_no_file(self, directory: Path) -> None:
        pin = write_manifest(directory)
        for name in ("empty", "config.json"):
            (directory / name).unlink()
        (directory / "config.json").mkdir()
        with socket.socket(socket.AF_UNIX) as end:
            end.bind(str(directory / "empty"))
            verdict = check(directory, pin, "--json").json
        assert verdict["failed"] == ["config.json", "empty"]

    def test_a_file_where_a_directory_was_is_missing(self, directory: Path) -> None:
        pin = write_manifest(directory)
        (directory / "sub/tokenizer.json").unlink()
        (directory / "sub").rmdir()
        (directory / "sub").write_text("x")
        verdict = check(directory, pin, "--json").json
        assert (verdict["missing"], verdict["unlisted"]) == (["sub/tokenizer.json"], ["sub"])

    @pytest.mark.parametrize("name", ["../blob", "/etc/hostname", "sub/../../blob", "..", "sub/.."])
    def test_a_name_that_leads_out_is_refused(
        self, directory: Path, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (directory.parent / "blob").write_bytes(b"blob")
        pin = write_manifest(directory, f"{sha(b'blob')}  {name}\n")
        monkeypatch.setattr("mockvllm.planning.weights.hash_files", lambda *_: pytest.fail("a file was read"))
        done = check(directory, pin)
        assert done.status == 1
        assert f"SHA256SUMS: FAILED (line 1: {name} leads out of the directory)" in done.out


HASH = "ab" * 32


class TestManifest:
    @pytest.mark.parametrize(
        ("line", "name"),
        [
            (f"{HASH}  a b", "a b"),
            (f"{HASH} *a", "a"),
            (f"{HASH} a", "a"),
            (f"{HASH.upper()}  a", "a"),
            (f"{HASH}   a", " a"),
            (f"{HASH}  a\r", "a"),
            (f"{HASH}  ./a", "a"),
            (f"{HASH}  b//./a", "b/a"),
            (f"\\{HASH}  a\\nb", "a\nb"),
            (f"\\{HASH} *a\\\\nb\\r", "a\\nb\r"),
            (f"{HASH}  a\\nb", "a\\nb"),
            (f"SHA256 (a (1)) = {HASH}", "a (1)"),
            (f"\\SHA256 (a\\n) = {HASH}", "a\n"),
        ],
    )
    def test_each_form_of_a_line(self, line: str, name: str) -> None:
        assert parse_manifest(line.encode()) == [Entry(name, HASH)]

    def test_comments_and_empty_lines_say_nothing(self) -> None:
        assert parse_manifest(f"# {HASH}  b\n\n{HASH}  a\n \r\n".encode()) == [Entry("a", HASH)]

    @pytest.mark.parametrize("line", ["a", HASH, f"{HASH[1:]}  a", f"{HASH}  ", f"g{HASH[1:]}  a", f"MD5 (a) = {HASH}"])
    def test_any_other_line_is_refused(self, line: str) -> None:
        with pytest.raises(ManifestError, match="line 2: "):
            parse_manifest(f"{HASH}  first\n{line}\n".encode())

    def test_an_escape_it_does_not_know_is_refused(self) -> None:
        with pytest.raises(ManifestError, match="line 1: has an escape"):
            parse_manifest(f"\\{HASH}  a\\tb".encode())

    def test_a_name_listed_twice_must_have_one_hash(self) -> None:
        assert len(parse_manifest(f"{HASH}  a\n{HASH}  ./a\n".encode())) == 1
        with pytest.raises(ManifestError, match="line 2: a is listed before with another hash"):
            parse_manifest(f"{HASH}  a\n{'cd' * 32}  a\n".encode())

    @given(
        names=st.sets(
            st.binary(min_size=1, max_size=20).filter(lambda n: not {0, 47} & set(n) and n not in (b".", b"..", b"-"))
        )
    )
    @settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
    def test_what_sha256sum_writes_is_read(self, tmp_path_factory: pytest.TempPathFactory, names: set[bytes]) -> None:
        directory = tmp_path_factory.mktemp("names")
        paths = [os.path.join(os.fsencode(directory), name) for name in names - {b"SHA256SUMS"}]  # noqa: PTH118
        for path in paths:
            with open(path, "wb") as file:  # noqa: PTH123
                file.write(path[-1:])
        for mark in ("--text", "--binary", "--tag"):
            command = ["sha256sum", mark, "--", *(os.path.basename(path) for path in paths)]  # noqa: PTH119
            written = subprocess.run(command, cwd=directory, capture_output=True, check=True).stdout if paths else b""
            pin = write_manifest(directory, written)
            assert verify(directory, pin).ok
            (directory / "SHA256SUMS").unlink()

    @pytest.mark.parametrize(
        ("name", "shown"), [("a", "a"), ("a\nb", "a\\nb"), ("a\\b", "a\\\\b"), (os.fsdecode(b"\xff"), "\\xff")]
    )
    def test_every_name_can_be_printed(self, name: str, shown: str) -> None:
        assert printable(name) == shown


class TestHashing:
    @pytest.fixture
    def sizes(self, tmp_path: Path) -> dict[str, int]:
        for index in range(5):
            (tmp_path / str(index)).write_bytes(os.urandom(1 << 20) * index)
        return {str(path): path.stat().st_size for path in tmp_path.iterdir()}

    @pytest.mark.parametrize("small", [0, 1 << 40], ids=["two processes", "one process"])
    def test_the_same_hashes_and_all_bytes_reported(
        self, sizes: dict[str, int], monkeypatch: pytest.MonkeyPatch, small: int
    ) -> None:
        monkeypatch.setattr(hashing, "SMALL_BYTES", small)
        reported: list[int] = []
        outcomes = dict(hashing.hash_files(sizes, reported.append, processes=2))
        assert {path: outcome.digest for path, outcome in outcomes.items()} == {
            path: sha(Path(path).read_bytes()) for path in sizes
        }
        assert reported == sorted(reported)
        assert reported[-1] == sum(sizes.values())

    def test_a_file_that_vanished_is_an_outcome(self, tmp_path: Path) -> None:
        outcome = hashing.hash_file(str(tmp_path / "gone"), lambda count: None)
        assert (outcome.digest, outcome.error) == ("", "No such file or directory")

    def test_a_directory_opened_as_a_file_is_an_outcome(self, tmp_path: Path) -> None:
        assert hashing.hash_file(str(tmp_path), lambda count: None).error == "Is a directory"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Missing argument 'DIR'"),
        (["."], "Missing option '--manifest-sha256'"),
        ([".", "--manifest-sha256", "abc"], "'--manifest-sha256': must be 64 hexadecimal digits, not abc"),
        (["nowhere", "--manifest-sha256", HASH], "'DIR': must be a directory, but nowhere is none"),
        (["/etc/hostname", "--manifest-sha256", HASH], "'DIR': must be a directory, but /etc/hostname is none"),
        ([".", ".", "--manifest-sha256", HASH], "unexpected extra argument"),
    ],
)
def test_wrong_usage_is_refused(words: list[str], message: str) -> None:
    assert message in refusal("verify-weights", *words)


def test_names_that_are_no_text_do_not_break_the_output(directory: Path) -> None:
    pin = write_manifest(directory)
    (Path(os.fsdecode(os.fsencode(directory) + b"/bad\xff\nname"))).write_bytes(b"")
    verdict = check(directory, pin, "--json").json
    assert verdict["unlisted"] == ["bad\\xff\\nname"]
    assert "bad\\xff\\nname: not in SHA256SUMS\n" in check(directory, pin).out
    assert json.dumps(verdict)


class TestLargeFiles:
    """Sparse files: as slow to hash as full ones, and made in no time."""

    @pytest.fixture
    def release(self, tmp_path: Path) -> Path:
        for name in ("model-00001.safetensors", "model-00002.safetensors"):
            (tmp_path / name).touch()
            os.truncate(tmp_path / name, 40 << 20)
        return tmp_path

    def command(self, directory: Path, pin: str) -> list[str]:
        return support.mockvllm("verify-weights", str(directory), "--manifest-sha256", pin)

    def test_a_terminal_sees_a_bar_on_standard_error(self, release: Path) -> None:
        pin = write_manifest(release)
        ours, theirs = pty.openpty()
        done = subprocess.run(self.command(release, pin), stderr=theirs, stdout=subprocess.PIPE, text=True, timeout=60)
        os.close(theirs)
        with os.fdopen(ours, "rb", buffering=0) as terminal:
            bar = terminal.read(65536).decode()
        assert (done.returncode, done.stdout) == (0, "SHA256SUMS: OK\nok: 2 files read, 0.084 GB\n")
        assert "83.9 MB" in bar

    @pytest.mark.slow
    def test_it_is_as_fast_as_sha256sum(self, release: Path) -> None:
        os.truncate(release / "model-00001.safetensors", 1 << 28)
        pin = write_manifest(release, subprocess.check_output(["sha256sum", "model-00001.safetensors"], cwd=release))
        (release / "model-00002.safetensors").unlink()

        def seconds(command: list[str]) -> float:
            start = time.perf_counter()
            subprocess.run(command, cwd=release, check=True, capture_output=True)
            return time.perf_counter() - start

        pairs = [(seconds(self.command(release, pin)), seconds(["sha256sum", "-c", "SHA256SUMS"])) for _ in range(3)]
        assert (
            min(ours for ours, _ in pairs) < 1.1 * min(theirs for _, theirs in pairs) + 0.5
        )  # the interpreter's start
