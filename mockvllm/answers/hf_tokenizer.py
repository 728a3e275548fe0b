"""A model's own tokenizer, from its directory (`tokenizer.json` and the config files beside it)."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mockvllm.answers.tokenizer import Detokenize, Side, cut

SPECIAL_TOKENS = ("bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token")
_CLASS = "TokenizerPoolCachedTokenizersBackend"  # vLLM's own, around that of transformers
_FIRST_FILLER = 300
_ENOUGH_CHARS = 8  # a token: so much of a text usually has the tokens that are wanted, and the rest need not be read
_INCOMPLETE = "\ufffd"
_CHARACTER_TOKENS = 4  # a character has as many bytes at most, and a token has one at least


class HFTokenizer:
    """`special_tokens`: text by role (`bos_token`, ...); `chat_template`: the directory's own, None if it has none.

    `config_directory`: where the model's config.json is, if not beside the tokenizer.
    ImportError: the `tokenizers` package is missing; OSError, ValueError: the directory has no readable tokenizer.
    """

    def __init__(self, directory: Path, config_directory: Path | None = None) -> None:
        from tokenizers import Tokenizer  # an optional package, and slow to import

        if not (directory / "tokenizer.json").is_file():
            raise FileNotFoundError(f"no tokenizer.json in {directory}")
        self._tokenizer = Tokenizer.from_file(str(directory / "tokenizer.json"))
        self.config = _read(directory, "tokenizer_config.json")
        model_config = _read(config_directory or directory, "config.json")
        generation_config = _read(directory, "generation_config.json")
        self.special_tokens = _special_tokens({**_read(directory, "special_tokens_map.json"), **self.config})
        self.chat_template = _chat_template(directory, self.config)
        vocabulary = self._tokenizer.get_vocab()
        self.max_chars_per_token: int | None = max(map(len, vocabulary))
        self.vocab_size: int = model_config.get("vocab_size") or len(vocabulary)
        end_ids = _ids(generation_config.get("eos_token_id", model_config.get("eos_token_id")))
        self.eos_token_id: int = vocabulary.get(self.special_tokens.get("eos_token", ""), end_ids[0] if end_ids else -1)
        self.extra_end_ids: Sequence[int] = [token_id for token_id in end_ids if token_id != self.eos_token_id]

    def encode(self, text: str, *, add_special_tokens: bool = False, limit: int | None = None) -> Sequence[int]:
        if limit is not None and len(text) > limit * _ENOUGH_CHARS:
            beginning = text[: text.rfind(" ", 0, limit * _ENOUGH_CHARS) + 1].rstrip()  # cut between words
            ids = self.encode(beginning, add_special_tokens=add_special_tokens)
            if len(ids) > limit:
                return ids[:limit]
        ids = self._tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
        return ids if limit is None else ids[:limit]

    def encode_kept(self, text: str) -> tuple[Sequence[int], object]:
        return self.encode(text), None

    def encode_cut(self, text: str, size: int, side: Side, *, add_special_tokens: bool = False) -> Sequence[int]:
        encoding = self._tokenizer.encode(text, add_special_tokens=False)
        special = self._tokenizer.num_special_tokens_to_add(False) if add_special_tokens else 0
        encoding.truncate(max(0, size - special), direction=side)
        ids: Sequence[int] = self._tokenizer.post_process(encoding, add_special_tokens=add_special_tokens).ids
        return cut(ids, size, side)

    def decode(self, ids: Sequence[int], *, skip_special_tokens: bool = False) -> str:
        try:
            text: str = self._tokenizer.decode(ids, skip_special_tokens=skip_special_tokens)
        except OverflowError:  # an id of more than 32 bits is nobody's
            return self.decode([id for id in ids if id < self.vocab_size], skip_special_tokens=skip_special_tokens)
        return text

    def token_text(self, token_id: int) -> str:
        return self.decode([token_id]).replace(_INCOMPLETE, "")

    def pieces(self, ids: Sequence[int]) -> list[str]:
        return [self._tokenizer.id_to_token(token_id) or "" for token_id in ids]

    def info(self) -> Mapping[str, Any]:
        added = {token_id: token["content"] for token_id, token in self.config.get("added_tokens_decoder", {}).items()}
        return {**self.config, "tokenizer_class": _CLASS, "added_tokens_decoder": added, "backend": "tokenizers"}

    def detokenizer(self, *, skip_special_tokens: bool) -> Detokenize:
        from tokenizers.decoders import DecodeStream

        stream = DecodeStream(skip_special_tokens=skip_special_tokens)
        return lambda token_id: stream.step(self._tokenizer, token_id) or ""

    def incomplete(self, ids: Sequence[int]) -> Sequence[int]:
        if not self._ends_within_character(ids[-_CHARACTER_TOKENS:]):
            return ()
        counts = range(1, _CHARACTER_TOKENS)
        before = (count for count in counts if not self._ends_within_character(ids[-2 * _CHARACTER_TOKENS : -count]))
        return ids[-next(before, _CHARACTER_TOKENS) :]

    def _ends_within_character(self, ids: Sequence[int]) -> bool:
        return self.decode(ids).endswith(_INCOMPLETE)

    def fillers(self) -> Iterable[int]:
        return range(_FIRST_FILLER, self.vocab_size)


def _read(directory: Path, name: str) -> dict[str, Any]:
    path = directory / name
    return json.loads(path.read_text("utf-8")) if path.is_file() else {}


def _ids(value: int | list[int] | None) -> list[int]:
    return [value] if isinstance(value, int) else list(value or ())


def _special_tokens(config: dict[str, Any]) -> dict[str, str]:
    named = ((role, config.get(role)) for role in SPECIAL_TOKENS)
    return {role: token["content"] if isinstance(token, dict) else token for role, token in named if token}


def _chat_template(directory: Path, config: dict[str, Any]) -> str | None:
    path = directory / "chat_template.jinja"
    if path.is_file():
        return path.read_text("utf-8")
    template = config.get("chat_template")
    if isinstance(template, list):  # several, by name
        return next((entry["template"] for entry in template if entry["name"] == "default"), None)
    return template
