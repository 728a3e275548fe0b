"""Prompts of the right length, for servers that count in different ways."""

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from mockvllm_client.ask import NoServerError
from mockvllm_client.prompts import WORDS, Tokenizer, Vocabulary, learn, random_prompts

Cut = Callable[[str], list[str]]
LENGTHS = (1, 2, 17, 100)


def words(text: str) -> list[str]:
    return [f" {word}" for word in text.split()]


def syllables(text: str) -> list[str]:
    """Longer words are several tokens; only the first has a mark for the space."""
    pieces = [(word[:4], *(word[at : at + 4] for at in range(4, len(word), 4))) for word in text.split()]
    return [f"Ġ{piece}" if not index else piece for parts in pieces for index, piece in enumerate(parts)]


def letters(text: str) -> list[str]:
    return list(text)


class Server:
    """`/tokenize` by `cut`, with `special` tokens in front of what is no raw text."""

    def __init__(self, cut: Cut, special: int = 0, shows: bool = True) -> None:
        self.cut, self.special, self.shows = cut, special, shows
        self.asked = 0

    def tokenize(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        body = json.loads(request.content)
        assert (request.url.path, body["model"]) == ("/tokenize", "m")
        tokens = ["<s>"] * (self.special if body["add_special_tokens"] else 0) + self.cut(body["prompt"])
        shown = tokens if self.shows and body.get("return_token_strs") else None
        return httpx.Response(200, json={"count": len(tokens), "max_model_len": 4096, "token_strs": shown})


async def made(
    server: Server, lengths: tuple[int, ...] = LENGTHS, prefix_len: int = 0, seed: str = "0"
) -> tuple[Vocabulary, list[str]]:
    async with httpx.AsyncClient(transport=httpx.MockTransport(server.tokenize)) as client:
        vocabulary = await learn(Tokenizer(client, "http://mock", "m"))
        return vocabulary, await random_prompts(vocabulary, lengths, prefix_len, seed)


@pytest.mark.parametrize("cut", [words, syllables])
@pytest.mark.parametrize("special", [0, 2])
async def test_the_server_counts_what_was_wanted(cut: Cut, special: int) -> None:
    server = Server(cut, special)
    lengths = tuple(length + special for length in LENGTHS)
    vocabulary, prompts = await made(server, lengths)
    assert [len(cut(prompt)) + special for prompt in prompts] == list(lengths)
    assert (vocabulary.special_tokens, vocabulary.max_model_len) == (special, 4096)
    assert server.asked == 4  # once for all words, twice for special tokens, once to check


async def test_only_words_that_are_one_token_are_used() -> None:
    vocabulary, prompts = await made(Server(syllables))
    assert 0 < len(vocabulary.words) < len(WORDS)
    assert all(len(word) <= 4 for prompt in prompts for word in prompt.split())


async def test_where_words_are_no_tokens_prompts_are_cut_to_fit() -> None:
    _, prompts = await made(Server(syllables, shows=False), (400, 100, 20))
    counts = [len(syllables(prompt)) for prompt in prompts]
    assert counts == pytest.approx([400, 100, 20], abs=1)
    _, prompts = await made(Server(letters), (200, 50))
    assert [len(prompt) for prompt in prompts] == pytest.approx([200, 50], abs=12)


@pytest.mark.parametrize(
    "answer", [httpx.Response(404), httpx.Response(200, text="<html>"), httpx.Response(200, json={"count": "three"})]
)
async def test_a_server_that_does_not_tokenize_counts_words(answer: httpx.Response) -> None:
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answer)) as client:
        vocabulary = await learn(Tokenizer(client, "http://mock", "m"))
        prompts = await random_prompts(vocabulary, LENGTHS, 0, "0")
    assert vocabulary == Vocabulary(WORDS)
    assert [len(prompt.split()) for prompt in prompts] == list(LENGTHS)


async def test_nobody_there() -> None:
    def refuse(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("refused")

    async with httpx.AsyncClient(transport=httpx.MockTransport(refuse)) as client:
        with pytest.raises(NoServerError, match="cannot connect to http://mock: refused"):
            await learn(Tokenizer(client, "http://mock", "m"))


async def test_the_seed_decides() -> None:
    _, once = await made(Server(words))
    _, again = await made(Server(words))
    _, other = await made(Server(words), seed="1")
    assert once == again
    assert once != other
    assert len(set(once)) == len(once)


@pytest.mark.parametrize("prefix_len", [1, 16])
async def test_a_prefix_is_shared_and_the_rest_is_not(prefix_len: int) -> None:
    _, prompts = await made(Server(words), (30, 40, 50), prefix_len)
    split: list[Any] = [prompt.split() for prompt in prompts]
    assert len({tuple(prompt[:prefix_len]) for prompt in split}) == 1
    assert len({tuple(prompt[prefix_len : prefix_len + 8]) for prompt in split}) == 3
    assert [len(prompt) for prompt in split] == [30, 40, 50]


def test_no_word_is_there_twice() -> None:
    assert len(set(WORDS)) == len(WORDS)
