"""Random prompts that have, for the server that counts them, as many tokens as they should.

They are made of common words. vLLM's `/tokenize` says which of them are one token each; a server without it is taken to
count words.
"""

import asyncio
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import httpx

from mockvllm_client.ask import NoServerError

_TEXT = """
about above across action after again against age ago air all almost alone along also always among and animal answer
any appear area arm around art as ask at away back ball bank base be bear beat beautiful because become bed been
before began behind being believe below best better between big bird black blood blue board boat body book both bottom
box boy bring brother brown build building built business but buy by call came can car care carry case catch center
century certain chance change check child children choose church city class clear close cold color come common company
complete control cook cool copy corn corner cost could country course cover cross cry current cut dark daughter day
dead deal death decide deep did difference different direct do doctor does dog done door down draw dream dress drive
drop dry during each ear early earth east easy eat edge effect eight either else end energy enough even evening ever
every example experience eye face fact fall family far farm fast father feel feet felt few field fight figure fill
final find fine fire first fish five floor fly follow food foot for force form found four free friend from front full
game garden gave general get girl give glass go gold good got government great green ground group grow had hair half
hand happy hard has have he head hear heart heavy held help her here high hill him his history hold home horse hot
hour house how human hundred hurt ice idea if in industry inside interest into is island it its job join just keep
kept key kind king knew know land language large last late laugh law lay lead learn least leave left less let letter
level lie life light like line list listen little live local long look lost lot love low machine made main make man
many map mark market matter may me mean measure men might mile mind minute miss moment money month moon more morning
most mother mountain move much music must my name nation nature near need never new next night no north not nothing
notice now number of off office often oil old on once one only open or order other our out over own page paper part
party pass past pattern pay peace people perhaps period person picture piece place plan plane plant play point poor
position possible power present president press problem process produce product program public pull purpose push put
question quick quite race rain ran reach read ready real reason record red remember rest result rich ride right river
road rock room round rule run said same saw say school science sea season second see seem self sell send sense sent
serve service set seven several shall shape she ship short should show side sign simple since sing sister sit six size
skin sky sleep slow small snow so some son song soon sound south space speak special spring square stand star start
state stay step still stone stood stop store story street strong study such summer sun support sure surface system
table take talk teach team tell ten test than that the their them then there these they thing think this those though
thought thousand three through time to today together told too took top total toward town trade train travel tree true
try turn two type under understand unit until up us use usual very voice wait walk wall want war warm was watch water
wave way we week weight well went were west what wheel when where which while white who whole why wide wife will win
wind window winter wish with without woman wonder wood word work world would write year yes yet you young your
"""
WORDS = _TEXT.split()
ROUNDS = 5
_AT_ONCE = 64  # as `vllm bench serve` asks
_SPACES = "Ġ▁ "  # how tokenizers write the space that a word begins with


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """The server's own, behind `/tokenize`. None comes back from a server that has none."""

    client: httpx.AsyncClient
    url: str
    model: str

    async def ask(self, text: str, **fields: Any) -> Mapping[str, Any] | None:
        """Raises NoServerError when nobody is there."""
        body = {"model": self.model, "prompt": text, "add_special_tokens": False, **fields}
        try:
            response = await self.client.post(f"{self.url}/tokenize", json=body)
        except httpx.TransportError as error:
            raise NoServerError(f"cannot connect to {self.url}: {error or type(error).__name__}") from error
        try:
            found = response.json() if response.status_code == 200 else None
        except ValueError:
            return None
        return found if isinstance(found, dict) and isinstance(found.get("count"), int) else None

    async def count(self, text: str, **fields: Any) -> int | None:
        found = await self.ask(text, **fields)
        return None if found is None else int(found["count"])


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """`words` are a token each. The server puts `special_tokens` of its own into every prompt."""

    words: Sequence[str]
    special_tokens: int = 0
    max_model_len: int | None = None
    tokenizer: Tokenizer | None = None


async def learn(tokenizer: Tokenizer) -> Vocabulary:
    """What the server makes of the words; raises NoServerError."""
    found = await tokenizer.ask(" ".join(WORDS), return_token_strs=True)
    if found is None:
        return Vocabulary(WORDS)
    words = _single(found.get("token_strs")) or WORDS
    counts = [await tokenizer.count(words[0], add_special_tokens=special) for special in (True, False)]
    limit = found.get("max_model_len")
    return Vocabulary(
        words,
        special_tokens=max(0, (counts[0] or 0) - (counts[1] or 0)),
        max_model_len=limit if isinstance(limit, int) else None,
        tokenizer=tokenizer,
    )


def _single(tokens: object) -> list[str]:
    """The words that are a token with the space before it."""
    whole = {token[1:] for token in tokens if str(token)[:1] in _SPACES} if isinstance(tokens, list) else set()
    return [word for word in WORDS if word in whole]


async def random_prompts(vocabulary: Vocabulary, lengths: Sequence[int], prefix_len: int, seed: str) -> list[str]:
    """A prompt for each length in tokens, of which all share the first `prefix_len`. The same seed, the same prompts.

    As `vllm bench serve` does it, the first is checked, and if it is wrong they are all cut to fit.
    """
    prefix = random.Random(f"{seed}:prefix").choices(vocabulary.words, k=prefix_len)
    own = [max(1, length - vocabulary.special_tokens) for length in lengths]
    draws = [random.Random(f"{seed}:{number}") for number in range(len(own))]
    texts = [
        [*prefix, *draw.choices(vocabulary.words, k=max(0, length - prefix_len))]
        for draw, length in zip(draws, own, strict=True)
    ]
    tokenizer = vocabulary.tokenizer
    if tokenizer and await tokenizer.count(" ".join(texts[0])) not in (None, own[0]):
        seats = asyncio.Semaphore(_AT_ONCE)
        fitted = (_fit(vocabulary, *item, seats) for item in zip(texts, own, draws, strict=True))
        texts = await asyncio.gather(*fitted)
    return [" ".join(words) for words in texts]


async def _fit(
    vocabulary: Vocabulary, words: list[str], length: int, draw: random.Random, seats: asyncio.Semaphore
) -> list[str]:
    """Words added or taken away until the count is right, or as near as so many rounds come."""
    assert vocabulary.tokenizer is not None
    async with seats:
        for _ in range(ROUNDS):
            count = await vocabulary.tokenizer.count(" ".join(words))
            if not count or count == length:
                break
            change = max(1, round(abs(length - count) * len(words) / count))
            more = draw.choices(vocabulary.words, k=change)
            words = [*words, *more] if count < length else words[:-change] or words[:1]
    return words
