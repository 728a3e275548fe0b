"""Request models that cost what the client sends: each field is validated alone, by a validator made when first needed.

A model is a class of annotations (what pydantic validates) and defaults. The outcome is that of one pydantic model of
the same fields: lax coercion, failures in the order of the fields, unknown fields ignored.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from mockvllm.wire.validation import Failure, bad_request, failures

_ATOMS = frozenset((str, int, float, bool, NoneType))


class RequestObject(BaseModel):
    """An object inside a request; unknown members are kept. Its validator is made when it is first needed."""

    model_config = ConfigDict(extra="allow", defer_build=True)


Proof = Callable[[Any], bool]
Hook = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


class Field:
    """One field. `proof` tells cheaply that a value is valid as it stands.

    `before` and `after` see the value around its validation, may change it, and raise what vLLM itself refuses.
    """

    def __init__(self, annotation: Any, proof: Proof | None, before: Hook | None, after: Hook | None) -> None:
        self.annotation = annotation
        self.exact = _exact_types(annotation)
        self.proof = proof
        self.before = before or _same
        self.after = after or _same

    def validate(self, value: Any) -> Any:
        """The value as the model holds it. Raises pydantic's ValidationError, or what the hooks raise."""
        if type(value) in self.exact or (self.proof is not None and self.proof(value)):
            return value
        return self.after(self._adapter.validate_python(self.before(value), from_attributes=True))

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        config = None if isinstance(self.annotation, type) else ConfigDict(extra="allow")
        return TypeAdapter(self.annotation, config=config)


class RequestModel:
    """An instance has the defaults of its class as attributes; `given` holds the fields that the client sent.

    `proofs`, `before` and `after` give a field, by its name, what `Field` calls so. `behind`: fields that do not stand
    where they are declared but behind another (None: first).
    """

    proofs: ClassVar[Mapping[str, Proof]] = {}
    before: ClassVar[Mapping[str, Hook]] = {}
    after: ClassVar[Mapping[str, Hook]] = {}
    behind: ClassVar[Mapping[str | None, Sequence[str]]] = {}
    _fields: ClassVar[Mapping[str, Field]] = {}
    _required: ClassVar[frozenset[str]]
    given: dict[str, Any]
    __slots__ = ("__dict__", "given")  # outside of `__dict__`, which `given` is

    def __init_subclass__(cls) -> None:
        cls._fields = {}

    @classmethod
    def fields(cls) -> Mapping[str, Field]:
        """The fields in their order."""
        if not cls._fields:
            hints = get_type_hints(cls, include_extras=True)
            names = _placed([name for name in hints if name not in RequestModel.__annotations__], cls.behind)
            proof, before, after = cls.proofs.get, cls.before.get, cls.after.get
            cls._fields = {name: Field(hints[name], proof(name), before(name), after(name)) for name in names}
            cls._required = frozenset(name for name in names if not hasattr(cls, name))
        return cls._fields

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Self:
        """A request with these fields, which are valid as they stand."""
        request = cls()
        request.given = request.__dict__
        request.given.update(values)
        return request

    @classmethod
    def parse(cls, body: Mapping[str, Any], absent: Collection[str] = ()) -> Self:
        """The request that `body` holds, without fields that are `absent`. Raises APIError naming every failure."""
        fields = cls._fields or cls.fields()
        if absent:
            fields = {name: field for name, field in fields.items() if name not in absent}
        request = cls()
        request.given = given = request.__dict__
        try:
            for name, value in body.items():
                field = fields.get(name)
                if field is not None:
                    given[name] = value if type(value) in field.exact else field.validate(value)
        except ValidationError:
            raise bad_request(list(cls._failures(body, fields))) from None
        if not cls._required <= given.keys():
            raise bad_request(list(cls._failures(body, fields)))
        return request

    @classmethod
    def failures(cls, body: Mapping[str, Any]) -> Iterator[Failure]:
        """Everything that is wrong with `body`."""
        return cls._failures(body, cls.fields())

    @classmethod
    def _failures(cls, body: Mapping[str, Any], fields: Mapping[str, Field]) -> Iterator[Failure]:
        for name, field in fields.items():
            if name in body:
                try:
                    field.validate(body[name])
                except ValidationError as error:
                    yield from failures(error, name)
            elif name in cls._required:
                yield Failure("missing", (name,), "Field required", body)


def _placed(names: Sequence[str], behind: Mapping[str | None, Sequence[str]]) -> list[str]:
    moved = {name for group in behind.values() for name in group}
    placed = list(behind.get(None, ()))
    for name in names:
        if name not in moved:
            placed += (name, *behind.get(name, ()))
    return placed


def _exact_types(annotation: Any) -> frozenset[type]:
    """The types whose values are valid, and stay as they are, under an annotation without constraints."""
    options = get_args(annotation) if get_origin(annotation) in (Union, UnionType) else (annotation,)
    return frozenset(option for option in options if option in _ATOMS)
