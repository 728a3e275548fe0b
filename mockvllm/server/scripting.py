"""What a request's choices will say: who decides it, and what its sampling parameters forbid."""

from collections.abc import Mapping, Sequence
from typing import Any

from mockvllm.answers.directives import Directive, from_script, in_header, in_prompt
from mockvllm.answers.masks import TokenMask, split_logit_bias
from mockvllm.answers.script import Script
from mockvllm.answers.speaker import Beams, Speaker, Turn
from mockvllm.answers.tokenizer import Tokenizer
from mockvllm.server.constraints import under
from mockvllm.server.draft import Prompt
from mockvllm.wire.errors import invalid
from mockvllm.wire.jsontext import escape

HEADER = b"x-mock-script"
FIELD = "mock"
_MASKING = frozenset(("logit_bias", "allowed_token_ids", "bad_words_token_ids"))


class Scripting:
    """Header, body field and prompt directive, in this order, before the default answer; unless directives are off."""

    def __init__(self, tokenizer: Tokenizer, answer: str, seed: int, directives: bool) -> None:
        self.speaker = Speaker(tokenizer, escape, answer, seed)
        self._tokenizer = tokenizer
        self._directives = directives

    def directive(self, user_text: str, body: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> Directive | None:
        """Who but the default decides. Raises APIError for a script that cannot be read."""
        if not self._directives:
            return None
        try:
            if HEADER in headers:
                return in_header(headers[HEADER])
            if FIELD in body:
                return from_script(body[FIELD], "body")
            return in_prompt(user_text)
        except ValueError as error:
            raise invalid(str(error)) from None

    def scripts(self, request_id: str, prompt: Prompt, directive: Directive | None) -> Sequence[Script]:
        """One script for each of the `n` choices."""
        values = prompt.values
        wanted = values.get("constraint") if directive is not None else None
        if wanted is not None and directive is not None:
            directive = under(wanted, directive, self._tokenizer, values["max_tokens"])
        turn = Turn(
            request_id,
            prompt.user_text,
            values["skip_special_tokens"],
            values.get("ignore_eos", False),
            values["min_tokens"],
            None if wanted else self._mask(values),  # a grammar permits no other masks
            prompt.incomplete,
            values.get("seed"),
        )
        if values.get("use_beam_search"):
            num_tokens = len(prompt.token_ids)
            search = Beams(values["n"], values["max_tokens"], num_tokens, values.get("length_penalty", 1.0))
            return self.speaker.beams(turn, directive, search)
        if values["n"] == 1:
            return (self.speaker.script(turn, directive),)
        return [self.speaker.script(turn, directive, index) for index in range(values["n"])]

    def _mask(self, values: Mapping[str, Any]) -> TokenMask | None:
        if not values["min_tokens"] and _MASKING.isdisjoint(values):
            return None
        allowed = values.get("allowed_token_ids")
        forced, forbidden = split_logit_bias(values.get("logit_bias") or {})
        return TokenMask(
            None if allowed is None else frozenset(allowed),
            forced,
            forbidden,
            values.get("bad_words_token_ids", ()),
            values["min_tokens"],
            self._end_ids(values),
            self._tokenizer.fillers(),
        )

    def _end_ids(self, values: Mapping[str, Any]) -> frozenset[int]:
        own = self._tokenizer.eos_token_id, *self._tokenizer.extra_end_ids
        return frozenset((*own, *(values.get("stop_token_ids") or ())))
