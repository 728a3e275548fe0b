"""Structured outputs of a request: the grammar that they stand for, and what is said under it."""

from collections.abc import Sequence

from mockvllm.answers.directives import Directive
from mockvllm.answers.speaker import SENTENCE
from mockvllm.answers.structured import MISSING, Constraint, constraint, default_text
from mockvllm.answers.structured_text import allows, constrain, may_begin
from mockvllm.answers.tokenizer import Tokenizer
from mockvllm.wire.errors import APIError, invalid
from mockvllm.wire.response_format import CONSTRAINTS, StructuredOutputsParams


def constraint_of(params: StructuredOutputsParams, *, any_whitespace: bool) -> Constraint:
    """Raises APIError for what is no grammar, or if no grammar engine is installed."""
    kind = kind_of(params)
    spaced = any_whitespace and not params.disable_any_whitespace
    try:
        return constraint(kind, getattr(params, kind), any_whitespace=spaced)
    except ImportError:
        raise no_engine() from None
    except ValueError as error:
        raise invalid(str(error)) from None


def no_engine() -> APIError:
    """The answer to what needs a grammar engine, where none is installed."""
    return APIError(501, MISSING, "NotImplementedError")


def kind_of(params: StructuredOutputsParams) -> str:
    return next(name for name in CONSTRAINTS if getattr(params, name) is not None)


def default_directive(wanted: Constraint, limit: int) -> Directive:
    """What to say under a constraint when nobody says anything: the sentence if it is allowed, else as little as is.

    In about `limit` characters.
    """
    return Directive("default", SENTENCE if allows(wanted.grammar, SENTENCE) else default_text(wanted, limit))


def under(wanted: Constraint, directive: Directive, tokenizer: Tokenizer, limit: int) -> Directive:
    """What a directive says, as far as it is allowed, in about `limit` tokens.

    If not even its beginning is, something that the constraint asks for; within a tag what was meant still counts.
    """
    text = SENTENCE if directive.say is None else directive.say
    free, bound = "", text
    if wanted.behind:
        before, mark, behind = text.partition(wanted.behind)
        if not mark:
            return directive
        free, bound = before + mark, behind
    pieces = _pieces(bound, tokenizer)
    if pieces and wanted.kind != "structural_tag" and not may_begin(wanted.grammar, pieces[0]):
        pieces = _pieces(default_text(wanted, limit), tokenizer)
    said = constrain(wanted.grammar, pieces, limit).text
    return Directive(directive.source, free + said, directive.end_token)


def _pieces(text: str, tokenizer: Tokenizer) -> Sequence[str]:
    """The text token by token."""
    detokenize = tokenizer.detokenizer(skip_special_tokens=False)
    return [detokenize(token_id) for token_id in tokenizer.encode(text)]
