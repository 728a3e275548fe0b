"""`mockvllm plan budget`: will it fit, what does it cost, and how wrong is the guess."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from mockvllm.cli.budget_checks import WindowVerdict, check_window, count_tokens
from mockvllm.cli.console import JSON, not_negative, option, positive, print_json, print_table, whole
from mockvllm.planning import reference
from mockvllm.planning.budget import (
    CHATS,
    FERTILITY,
    Cost,
    Estimate,
    Prices,
    Text,
    cost,
    estimate,
    language_code,
    read_messages,
    spoken,
)

PROMPT, MAX_TOKENS = 2000, 250


def budget(
    prompt: Annotated[int | None, option(whole, f"tokens of the prompt [{PROMPT}]")] = None,
    max_tokens: Annotated[
        str | None, typer.Option(metavar="N|none", help="asked for [250; with --prompt: none]")
    ] = None,
    max_model_len: Annotated[int, option(whole)] = 8192,
    profile: Annotated[str, typer.Option(help="the vLLM release that checks it")] = "0.33",
    price_in: Annotated[float, option(not_negative, "per million tokens", "US$")] = Prices().input,
    price_out: Annotated[float, option(not_negative, "per million tokens", "US$")] = Prices().output,
    words: Annotated[int, option(whole, "of an answer")] = 200,
    language: Annotated[str, typer.Option(help="of the words: en, es")] = "es",
    fertility: Annotated[float | None, option(positive, "tokens per word, for any other language")] = None,
    itl_ms: Annotated[float, option(not_negative, "per token", "MS")] = 40,
    kv_bytes_per_token: Annotated[int, option(whole, metavar="BYTES")] = reference.KV_BYTES_PER_TOKEN,
    messages: Annotated[Path | None, typer.Option(metavar="FILE", help="JSON: the chat to estimate")] = None,
    tokenizer: Annotated[Path | None, typer.Option(metavar="DIR", help="count the chat for real, too")] = None,
    as_json: JSON = False,
) -> None:
    """The context window by release, the price, the tokens of a language, and a gateway's estimate of a chat."""
    prompt_tokens = prompt or PROMPT
    wanted = _wanted(max_tokens, alone=prompt is None)
    prices = Prices(price_in, price_out)
    code = "en" if fertility else language_code(language)
    rate = fertility or FERTILITY[code]
    chat = read_messages(messages) if messages else CHATS[code]
    window = check_window(prompt_tokens, wanted, max_model_len, profile)
    figures = Figures(
        window=window,
        cost=cost(prices, prompt_tokens, window.max_new_tokens) if window.max_new_tokens else None,
        fertility=rate,
        text=spoken(words, rate, prices, itl_ms / 1000, kv_bytes_per_token),
        estimate=estimate(chat, rate),
        tokens=count_tokens(chat, tokenizer) if tokenizer else None,
    )
    if as_json:
        print_json(figures.json())
    else:
        print_table(f"Budget, profile {profile}", ["figure", "value"], figures.rows(prompt_tokens), figures.notes())


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """Everything that is printed. `tokens`: of the chat, by a real tokenizer."""

    window: WindowVerdict
    cost: Cost | None
    fertility: float
    text: Text
    estimate: Estimate
    tokens: int | None

    @property
    def error(self) -> float | None:
        """The estimate's, as a signed share of the real count."""
        return self.estimate.tokens / self.tokens - 1 if self.tokens else None

    def json(self) -> dict[str, Any]:
        estimate = asdict(self.estimate)
        return {
            "window": asdict(self.window),
            "cost": self.cost and self.cost.total,
            "output_cost_share": self.cost and self.cost.output_cost_share,
            "output_token_share": self.cost and self.cost.output_token_share,
            "fertility": self.fertility,
            "text": asdict(self.text),
            "estimate": estimate.pop("tokens"),
            "chat": estimate | {"tokens": self.tokens, "estimate_error": self.error},
        }

    def rows(self, prompt: int) -> Iterator[tuple[str, str]]:
        yield f"a prompt of {prompt:,} tokens: new tokens", f"up to {self.window.max_new_tokens or 0:,}"
        if self.cost:
            yield "  if it takes them all", f"US${self.cost.total:.5f}"
            yield "  the output's share of the cost", f"{self.cost.output_cost_share:.0%}"
            yield "  the output's share of the tokens", f"{self.cost.output_token_share:.0%}"
        yield f"an answer of {self.text.words:,} words, {self.fertility:g} tokens each", f"{self.text.tokens:,} tokens"
        yield "  costs", f"US${self.text.cost:.5f}"
        yield "  takes", f"{self.text.seconds:.1f} s"
        yield "  keeps in KV cache", f"{self.text.kv_bytes / 1e6:,.0f} MB"
        chat = self.estimate
        yield f"a chat of {chat.messages} messages, {chat.characters} characters", f"about {chat.tokens:,} tokens"
        yield f"  by its {chat.words} words", f"about {chat.by_words:,}"
        if self.tokens:
            yield "  by the tokenizer", f"{self.tokens:,} (the estimate is {self.error:+.0%} off)"

    def notes(self) -> Iterator[str]:
        if self.window.message:
            yield f"400 {self.window.message}"


def _wanted(max_tokens: str | None, *, alone: bool) -> int | None:
    """As in a request, no limit is the default; the reference case asks for some."""
    if max_tokens is None:
        return MAX_TOKENS if alone else None
    if max_tokens.lower() == "none":
        return None
    try:
        return whole(max_tokens)
    except typer.BadParameter as error:
        raise typer.BadParameter(str(error), param_hint="'--max-tokens'") from None
