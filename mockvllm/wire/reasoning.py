"""How many of a response's tokens were reasoning."""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Protocol


class ReasoningCount(Protocol):
    """One choice's; it is told each token's text, None for one that ends the turn."""

    total: int

    def add(self, text: str | None) -> None: ...


class ReasoningTokens:
    """The `completion_tokens_details` of a response. `token_text`: of special tokens too."""

    def __init__(
        self, counts: Sequence[ReasoningCount], token_text: Callable[[int], str], end_ids: Collection[int]
    ) -> None:
        self._counts = counts
        self._token_text = token_text
        self._end_ids = end_ids

    def add(self, index: int, token_ids: Iterable[int]) -> None:
        """The next tokens of a choice."""
        add = self._counts[index].add
        for token_id in token_ids:
            add(None if token_id in self._end_ids else self._token_text(token_id))

    def details(self, index: int | None = None) -> dict[str, int]:
        """Of one choice, or of all."""
        counts = self._counts if index is None else (self._counts[index],)
        return {"reasoning_tokens": sum(count.total for count in counts)}
