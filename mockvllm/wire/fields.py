"""Request models that cost what the client sends: each field is validated alone, by a validator made when first needed.

A model is a class of annotations (what pydantic validates) and defaults. The outcome is that of one pydantic model of
the same fields: lax coercion, failures in the order of the fields, unknown fields ignored.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, reduce
from operator import or_
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Self, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, ConfigDict, FailFast, TypeAdapter, ValidationError

from mockvllm.wire.validation import Failure, Shape, bad_request, element_failures, failures

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
    `shape`, of a field that is a list: what decides how many failures an element has (see `element_failures`).
    """

    def __init__(
        self, annotation: Any, proof: Proof | None, before: Hook | None, after: Hook | None, shape: Shape | None = None
    ) -> None:
        self.annotation = annotation
        self.shape = shape
        self.exact = _exact_types(annotation)
        self.proof = proof
        self.before = before or _same
        self.after = after or _same

    def validate(self, value: Any) -> Any:
        """The value as the model holds it. Raises pydantic's ValidationError, or what the hooks raise."""
        if type(value) in self.exact or (self.proof is not None and self.proof(value)):
            return value
        return self.after(self._adapter.validate_python(self.before(value), from_attributes=True))

    def failures(self, value: Any, name: str) -> list[Failure]:
        """What is wrong with a value of the field `name`. Raises what the hooks raise."""
        try:
            self.validate(value)
        except ValidationError as error:
            if self.shape is None or not isinstance(value, list):
                return failures(error, name)
            return element_failures(self._element, self.before(value), self.shape, name)
        return []

    @cached_property
    def _adapter(self) -> TypeAdapter[Any]:
        # the elements of a list that has a shape are looked at one by one once it is known to be wrong
        return _adapter(self.annotation if self.shape is None else Annotated[self.annotation, FailFast()])

    @cached_property
    def _element(self) -> TypeAdapter[Any]:
        return _adapter(get_args(self.annotation)[0])


def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=None if isinstance(annotation, type) else ConfigDict(extra="allow"))


class RequestModel:
    """An instance has the defaults of its class as attributes; `given` holds the fields that the client sent.

    `proofs`, `before`, `after` and `shapes` give a field, by its name, what `Field` calls so. `behind`: fields that do
    not stand where they are declared but behind another (None: first).
    """

    proofs: ClassVar[Mapping[str, Proof]] = {}
    before: ClassVar[Mapping[str, Hook]] = {}
    after: ClassVar[Mapping[str, Hook]] = {}
    shapes: ClassVar[Mapping[str, Shape]] = {}
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
            cls._fields = {name: cls._field(name, hints[name]) for name in names}
            cls._required = frozenset(name for name in names if not hasattr(cls, name))
        return cls._fields

    @classmethod
    def _field(cls, name: str, annotation: Any) -> Field:
        proof, before, after, shape = cls.proofs.get, cls.before.get, cls.after.get, cls.shapes.get
        return Field(annotation, proof(name), before(name), after(name), shape(name))

    @classmethod
    def without_null(cls, names: Collection[str]) -> type[Self]:
        """The model whose fields of these names do not take null."""
        hints = get_type_hints(cls, include_extras=True)
        return cls.retyped({name: _without_null(hints[name]) for name in names}) if names else cls

    @classmethod
    def retyped(cls, annotations: Mapping[str, Any]) -> type[Self]:
        """The model with other types of some of its fields."""
        return type(cls.__name__, (cls,), {"__annotations__": dict(annotations), "__module__": cls.__module__})

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
            raise bad_request(cls._failures(body, fields)) from None
        if not cls._required <= given.keys():
            raise bad_request(cls._failures(body, fields))
        return request

    @classmethod
    def failures(cls, body: Mapping[str, Any]) -> list[Failure]:
        """Everything that is wrong with `body`."""
        return cls._failures(body, cls.fields())

    @classmethod
    def _failures(cls, body: Mapping[str, Any], fields: Mapping[str, Field]) -> list[Failure]:
        found: list[Failure] = []
        for name, field in fields.items():
            if name in body:
                found += field.failures(body[name], name)
            elif name in cls._required:
                found.append(Failure("missing", (name,), "Field required", body))
        return found


def _without_null(annotation: Any) -> Any:
    return reduce(or_, (option for option in get_args(annotation) if option is not NoneType))


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
