"""Forms of sources, transforms and sinks, one for each kind, made of the table of kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final

from marshmallow import ValidationError

from conductor_py.pipelines.kinds import SINKS, SOURCES, TRANSFORMS, Kind, is_foreign
from conductor_py.pipelines.spec import (
    DEAD_LETTER,
    Column,
    EventTime,
    Guarantee,
    Rate,
    Schema,
    Sink,
    Source,
    SplitRule,
    Transform,
)
from conductor_py.pipelines.types import TypeUnknown, read_type
from conductor_py.wire.fields import Choice, Many, One, WireField, many
from conductor_py.wire.pipeline_fields import (
    Strict,
    StrictForm,
    a_flag,
    a_map,
    a_name,
    a_number,
    a_size,
    a_text,
    a_whole,
    field_of,
    strict_text,
)

ID: Final = r"[A-Za-z_][A-Za-z0-9_-]{0,63}"
OUTPUT: Final = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_FOREIGN_KIND: Final = r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)+"
_AN_ID: Final = "letters, digits, _ and -, at most 64, no digit first"
_AN_OUTPUT: Final = "letters, digits and _, at most 128, no digit first"


def _type_text(value: object) -> str:
    text = strict_text(value)
    try:
        read_type(text)
    except TypeUnknown as error:
        raise ValueError(str(error)) from error
    return text


class ColumnForm(StrictForm):
    """A column."""

    model = Column
    name = a_text(required=True)
    type = Strict(_type_text, {"type": "string"}, required=True)
    nullable = a_flag()


_COLUMN: Final = ColumnForm()


class SchemaForm(StrictForm):
    """The columns of a source."""

    model = Schema
    columns = Many(lambda: _COLUMN, required=True)
    extra_columns = Choice(("ignore", "fail", "capture"))
    missing_columns = Choice(("null", "fail"))
    cast_errors = Choice(("null", "bad_row", "fail"))


class EventTimeForm(StrictForm):
    """The time of events."""

    model = EventTime
    column = a_text(required=True)
    max_drift_s = a_number(least=0)
    idle_after_s = a_number(least=0)


class RateForm(StrictForm):
    """How fast something may be read."""

    model = Rate
    rows_per_second = a_number(least=0.001)
    bytes_per_second = a_number(least=1)


class SplitForm(StrictForm):
    """How a source is cut."""

    model = SplitRule
    by = a_text(required=True)
    size_bytes = a_size()
    rows = a_whole(least=1)
    column = a_text()

    def on_bind_field(self, field_name: str, field_obj: Any) -> None:  # noqa: ANN401
        """Write ``size`` for what is bytes inside."""
        field_obj.data_key = "size" if field_name == "size_bytes" else None
        super().on_bind_field(field_name, field_obj)


_SCHEMA, _EVENT_TIME, RATE, _SPLIT = SchemaForm(), EventTimeForm(), RateForm(), SplitForm()


def _source_fields() -> dict[str, WireField]:
    return {
        "id": a_name(ID, _AN_ID, required=True),
        "kind": a_text(required=True),
        "output": a_name(OUTPUT, _AN_OUTPUT, required=True),
        "split": One(lambda: _SPLIT),
        "schema": One(lambda: _SCHEMA),
        "read_as": Choice(("splits", "lookup")),
        "event_time": One(lambda: _EVENT_TIME),
        "rate": One(lambda: RATE),
    }


def _transform_fields() -> dict[str, WireField]:
    return {
        "id": a_name(ID, _AN_ID, required=True),
        "kind": a_text(required=True),
        "inputs": a_map(strict_text, {"type": "string"}),
        "output": a_name(OUTPUT, _AN_OUTPUT, required=True),
        "parallelism": a_whole(least=1, most=10_000),
    }


def _sink_fields() -> dict[str, WireField]:
    return {
        "id": a_name(ID, _AN_ID, required=True),
        "kind": a_text(required=True),
        "input": a_text(),
        "require": Choice(Guarantee, make=Guarantee),
    }


def _dead_letter_fields() -> dict[str, WireField]:
    return {
        "kind": a_text(required=True),
        "require": Choice(Guarantee, make=Guarantee),
    }


class Node(WireField):
    """A node whose form its ``kind`` chooses."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        own: Callable[[], dict[str, WireField]],
        make: Callable[..., Any],
        **more: Any,  # noqa: ANN401 - arguments of a field
    ) -> None:
        super().__init__(**more)
        self.kinds, self.own, self.make = kinds, own, make

    def load(self, value: Any) -> Any:  # noqa: ANN401
        if not isinstance(value, dict):
            raise ValueError("must be an object")  # noqa: TRY004 - one kind of error
        kind = value.get("kind")
        if isinstance(kind, str) and is_foreign(kind):
            return self._foreign(value)
        if not isinstance(kind, str) or kind not in self.kinds:
            known = ", ".join(self.kinds)
            raise ValidationError({"kind": [f"must be one of {known}, or a third party's (a.b)"]})
        loaded = self.form_of(kind).load(value)
        settings = {}
        for name, setting in self.kinds[kind].settings.items():
            found = loaded.pop(name, setting.default)
            found = dict(found) if isinstance(found, dict) else found
            if found is not None:
                settings[name] = found
        return self.make(**loaded, settings=settings)

    def _foreign(self, value: dict[str, Any]) -> Any:  # noqa: ANN401 - what the model makes
        form = self.form_of(None)
        own = {name: each for name, each in value.items() if name in form.fields}
        others = {name: each for name, each in value.items() if name not in form.fields}
        return self.make(**form.load(own), settings=others)

    def form_of(self, kind: str | None) -> StrictForm:
        """Give the form of a kind; of a third party's without one."""
        role = next(iter(self.kinds.values())).role
        return _form(self.own, role, kind)

    def json_schema(self) -> dict[str, Any]:
        """Describe an alternative for each kind, and one for those of third parties."""
        return {"oneOf": [described(self.form_of(kind), open_=kind is None) for kind in self._all]}

    @property
    def _all(self) -> tuple[str | None, ...]:
        return (*self.kinds, None)


def described(form: StrictForm, *, open_: bool = False) -> dict[str, Any]:
    """Write the JSON Schema of a form, other forms inside of it written out."""
    properties = {
        field.data_key or name: described_field(field) for name, field in form.fields.items()
    }
    required = [field.data_key or name for name, field in form.fields.items() if field.required]
    return {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": open_,
    }


def described_field(field: Any) -> dict[str, Any]:  # noqa: ANN401 - a field of marshmallow
    """Write the JSON Schema of a field."""
    if isinstance(field, Many):
        return {"type": "array", "items": described(_strict(field))}
    if isinstance(field, One):
        return described(_strict(field))
    assert isinstance(field, WireField)
    return field.json_schema()


def _strict(field: One) -> StrictForm:
    form = field.schema_of()
    assert isinstance(form, StrictForm)
    return form


@lru_cache(maxsize=64)
def _form(own: Callable[[], dict[str, WireField]], role: str, kind: str | None) -> StrictForm:
    table = {"source": SOURCES, "transform": TRANSFORMS, "sink": SINKS}[role]
    settings = table[kind].settings if kind is not None else {}
    members = own() | {name: field_of(setting) for name, setting in settings.items()}
    if kind is not None:
        members["kind"] = Choice((kind,), required=True)
    else:
        members["kind"] = a_name(_FOREIGN_KIND, "words joined by dots", required=True)
    made = StrictForm.from_dict(dict(members), name=f"{role}_{kind}")()
    assert isinstance(made, StrictForm)
    return made


class Listed(WireField):
    """A list of nodes."""

    def __init__(self, node: Node, **more: Any) -> None:  # noqa: ANN401 - arguments of a field
        super().__init__(**more)
        self.node = node

    def load(self, value: Any) -> Any:  # noqa: ANN401
        return many(value, self.node.load)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.node.json_schema()}


def _dead_letter(**members: Any) -> Sink:  # noqa: ANN401 - members of the model
    return Sink(id=DEAD_LETTER, input="", **members)


SOURCE: Final = Node(SOURCES, _source_fields, Source)
TRANSFORM: Final = Node(
    TRANSFORMS, _transform_fields, lambda **members: Transform(**{"inputs": {}, **members})
)
SINK: Final = Node(SINKS, _sink_fields, lambda **members: Sink(**{"input": "", **members}))


def dead_letter_field() -> Node:
    """Make the field of the sink that takes bad rows."""
    return Node(SINKS, _dead_letter_fields, _dead_letter)
