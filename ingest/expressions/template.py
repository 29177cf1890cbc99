"""Templates: text with tags that are filled in from an event; an option type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ingest.api.choices import Fate
from ingest.api.errors import ExpressionError
from ingest.api.event import Event
from ingest.expressions.compiler import Compiler, Doubt, Expression, Value, constant
from ingest.expressions.nodes import Attribute, DateLetter, Node, Text
from ingest.expressions.option_type import DEFAULT_ZONE, option_schema
from ingest.expressions.parser import parse_template

Render = Callable[[Event], bytes]


@dataclass(frozen=True, slots=True)
class Template:
    """
    Text with `%{...}` tags and date letters, compiled once; an option type.

    Equal to another of the same text and zone; pickled as those two.

    Attributes:
        text: as it was written.
        zone: name of the time zone of its dates.
        constant: the bytes when no event changes them, else None.
        references: what it reads: core names such as `nanos`, attributes as `attribute:NAME`; dates read `timestamp`.
        render: the bytes for an event; what is absent is empty. Raises ExpressionError when a function has no value.
        missing: name of the first attribute that is absent where it matters, None when all is there.
        doubts: what is right in it and can hardly be meant.
    """

    text: str
    zone: str
    constant: bytes | None = field(compare=False, repr=False)
    references: frozenset[str] = field(compare=False, repr=False)
    render: Render = field(compare=False, repr=False)
    missing: Callable[[Event], str | None] = field(compare=False, repr=False)
    doubts: tuple[Doubt, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = DEFAULT_ZONE) -> "Template":
        """
        Read and compile a template.

        Raises:
            ExpressionSyntaxError: the text is no template; with the column.
        """
        nodes = parse_template(text)
        compiler = Compiler(text, zone)
        parts = _parts(nodes, compiler)
        only = parts[0].constant if len(parts) == 1 else None
        return cls(
            text=text,
            zone=zone,
            constant=b"" if not parts else only,
            references=frozenset().union(*(part.references for part in parts)),
            render=_renderer(nodes, parts),
            missing=_missing(nodes, parts),
            doubts=tuple(compiler.doubts),
        )

    def lacks(self, event: Event, *, is_error: bool) -> bool:
        """
        Whether an attribute is absent where it matters.

        Raises:
            ExpressionError: one is, and that is an error.
        """
        missing = self.missing(event)
        if missing is not None and is_error:
            # without the text: a key of a function in it may be a secret, and dead letters have the message
            raise ExpressionError(f'no attribute "{missing}" for the template', code="no_attribute")
        return missing is not None

    def passes(self, event: Event, on_missing: Fate) -> bool:
        """
        Whether an event goes on that lacks an attribute where it matters.

        Raises:
            ExpressionError: it does, and that is an error.
        """
        return not self.lacks(event, is_error=on_missing is Fate.ERROR) or on_missing is Fate.KEEP

    def __reduce__(self) -> tuple[object, ...]:
        return Template.parse, (self.text, self.zone)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_expression")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "template"}


def _parts(nodes: Sequence[Node], compiler: Compiler) -> list[Expression]:
    """Compiled nodes; dates with the text around them are one part, and so are constants that touch."""
    parts: list[Expression] = []
    run: list[Text | DateLetter] = []

    def close_run() -> None:
        if any(isinstance(node, DateLetter) for node in run):
            parts.append(compiler.dates(run))
        else:
            for node in run:
                _append(parts, compiler.expression(node))
        run.clear()

    for node in nodes:
        if isinstance(node, Text | DateLetter):
            run.append(node)
        else:
            close_run()
            _append(parts, compiler.expression(node))
    close_run()
    return parts


def _append(parts: list[Expression], part: Expression) -> None:
    last = parts[-1].constant if parts else None
    if part.constant is not None and last is not None:
        parts[-1] = constant(last + part.constant)
    elif part.constant != b"":
        parts.append(part)


def _renderer(nodes: Sequence[Node], parts: Sequence[Expression]) -> Render:  # noqa: PLR0911 - a shape each
    """The fastest closure for the shape of a template."""
    if not parts:
        return lambda _event: b""
    match nodes:
        case [Attribute(name)]:
            return lambda event: event.attributes.get(name, b"")
        case [Attribute(name), Text()]:
            return _around(name, b"", _fixed(parts[1]))
        case [Text(), Attribute(name)]:
            return _around(name, _fixed(parts[0]), b"")
        case [Text(), Attribute(name), Text()]:
            return _around(name, _fixed(parts[0]), _fixed(parts[2]))
    if len(parts) == 1:
        return _or_empty(parts[0].value)
    pattern = b"".join(b"%b" if part.constant is None else part.constant.replace(b"%", b"%%") for part in parts)
    values = [part.value for part in parts if part.constant is None]
    match values:
        case [value]:
            return lambda event: pattern % (value(event) or b"")
        case [first, second]:
            return lambda event: pattern % (first(event) or b"", second(event) or b"")
        case [first, second, third]:
            return lambda event: pattern % (first(event) or b"", second(event) or b"", third(event) or b"")
        case _:
            return lambda event: pattern % tuple([value(event) or b"" for value in values])


def _fixed(part: Expression) -> bytes:
    return part.constant or b""


def _around(name: str, before: bytes, after: bytes) -> Render:
    return lambda event: before + event.attributes.get(name, b"") + after


def _or_empty(value: Value) -> Render:
    return lambda event: value(event) or b""


def _missing(nodes: Sequence[Node], parts: Sequence[Expression]) -> Callable[[Event], str | None]:
    reading = [part for part in parts if part.attributes]
    names = tuple(name for part in reading for name in part.attributes)
    if not names:
        return lambda _event: None
    if all(isinstance(node, Attribute) for node in nodes if not isinstance(node, Text | DateLetter)):

        def missing(event: Event) -> str | None:
            attributes = event.attributes
            for name in names:
                if name not in attributes:
                    return name
            return None

        return missing

    def missing_of(event: Event) -> str | None:
        for part in reading:
            if part.value(event) is None:
                return next((name for name in part.attributes if name not in event.attributes), part.attributes[0])
        return None

    return missing_of
