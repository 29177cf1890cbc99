"""Templates: text with tags that are replaced by values of an event; an option type."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ingest.api.errors import EventError, ExpressionError
from ingest.api.event import Event
from ingest.api.event_errors import NoAttributeError
from ingest.decorating.choices import OnMissing
from ingest.expressions.compiled import Expression, LintWarning, constant
from ingest.expressions.compiler import Compiler
from ingest.expressions.mistakes import further_mistakes
from ingest.expressions.nodes import Attribute, DateLetter, Node, Text
from ingest.expressions.option_type import DEFAULT_ZONE, option_schema
from ingest.expressions.parser import parse_template

Render = Callable[[Event], bytes]
RenderWhole = Callable[[Event], bytes | None]
_Absent = Callable[[Event, Expression], bytes | None]
"""The result for an event if a part is absent; takes the event and the part."""


def _absent(what: str) -> EventError:
    """The error for an absent part; without the template, which may contain a secret."""
    return ExpressionError(f"no {what} for the template", code=NoAttributeError.code)


@dataclass(frozen=True, slots=True)
class Template:
    """
    Text with `%{...}` tags and date letters, compiled once; an option type.

    Templates with the same text and zone are equal, and are pickled as these two.

    Attributes:
        text: the source text.
        zone: name of the time zone for dates.
        constant: the bytes if they are the same for every event, else None.
        references: what it reads: core names such as `nanos`, attributes as `attribute:NAME`; dates read `timestamp`.
        render: the bytes for an event; absent values are empty. Raises ExpressionError if a function fails.
        lint_warnings: parts that are valid but probably a mistake.
    """

    text: str
    zone: str
    constant: bytes | None = field(compare=False, repr=False)
    references: frozenset[str] = field(compare=False, repr=False)
    render: Render = field(compare=False, repr=False)
    _parts: tuple[Expression, ...] = field(compare=False, repr=False)
    lint_warnings: tuple[LintWarning, ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def parse(cls, text: str, zone: str = DEFAULT_ZONE) -> "Template":
        """
        Parse and compile a template.

        Raises:
            ExpressionSyntaxError: the text is not a valid template.
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
            _parts=tuple(parts),
            lint_warnings=tuple(compiler.lint_warnings),
        )

    def renderer(self, on_missing: StrEnum, error: Callable[[str], EventError] = _absent) -> RenderWhole:
        """
        A function that renders the template for an event, with an option `on_missing`.

        The option applies if a part that reads an attribute or the key is absent; not to `%{default(user, 'none')}`,
        which is never absent. Each part is evaluated once for an event.

        Args:
            on_missing: with `empty` an absent part is empty; with `error` the event fails; with any other choice the
                function returns None, and the caller handles it.
            error: creates the error from what is absent: `attribute "NAME"`, or `key`.
        """
        if on_missing == OnMissing.EMPTY or not any(part.may_lack for part in self._parts):
            return self.render
        if on_missing != OnMissing.ERROR:
            if len(self._parts) == 1:
                return self._parts[0].value
            return _whole(self._parts, lambda _event, _part: None)

        def fail(event: Event, part: Expression) -> None:
            name = next(part.lacking(event), part.may_lack[0])
            raise error("key" if name is None else f'attribute "{name}"')

        return _whole(self._parts, fail)

    def __reduce__(self) -> tuple[object, ...]:
        return Template.parse, (self.text, self.zone)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_expression", further_mistakes)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "template"}


def _parts(nodes: Sequence[Node], compiler: Compiler) -> list[Expression]:
    """Compiled nodes; date letters and the text around them become one part, and so do adjacent constants."""
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
    """A closure specialized for the shape of the template."""
    if not parts:
        return lambda _event: b""
    match nodes:
        case [Attribute(name), Text()]:
            return _around(name, b"", _fixed(parts[1]))
        case [Text(), Attribute(name)]:
            return _around(name, _fixed(parts[0]), b"")
        case [Text(), Attribute(name), Text()]:
            return _around(name, _fixed(parts[0]), _fixed(parts[2]))
    if len(parts) == 1:
        return _filled(parts[0])
    pattern = b"".join(map(_conversion, parts))
    match [part.integer or _filled(part) for part in parts if part.constant is None]:
        case [one]:
            return lambda event: pattern % one(event)
        case [first, second]:
            return lambda event: pattern % (first(event), second(event))
        case [first, second, third]:
            return lambda event: pattern % (first(event), second(event), third(event))
        case arguments:
            return lambda event: pattern % tuple([argument(event) for argument in arguments])


def _conversion(part: Expression) -> bytes:
    """The part in a format, which writes an integer without bytes of its own."""
    if part.constant is not None:
        return part.constant.replace(b"%", b"%%")
    return b"%b" if part.integer is None else b"%d"


def _fixed(part: Expression) -> bytes:
    return part.constant or b""


def _around(name: str, before: bytes, after: bytes) -> Render:
    return lambda event: before + event.attributes.get(name, b"") + after


def _filled(part: Expression) -> Render:
    value = part.value
    return part.filled or (lambda event: value(event) or b"")


def _whole(parts: Sequence[Expression], absent: _Absent) -> RenderWhole:
    """A closure that calls `absent` if a part that may lack something is absent; there must be such a part."""
    varying = [number for number, part in enumerate(parts) if part.constant is None]
    if len(varying) == 1:
        (number,) = varying
        part = parts[number]
        value = part.value
        before, after = (b"".join(map(_fixed, some)) for some in (parts[:number], parts[number + 1 :]))

        def one(event: Event) -> bytes | None:
            found = value(event)
            return absent(event, part) if found is None else before + found + after

        return one
    pieces = [_fixed(part) for part in parts]
    # parts that may be absent first: an absent one takes precedence over an error of another part
    varying.sort(key=lambda number: not parts[number].may_lack)
    numbered = tuple((number, parts[number].value, parts[number]) for number in varying)

    def several(event: Event) -> bytes | None:
        filled = pieces.copy()
        for number, value, part in numbered:
            found = value(event)
            if found is not None:
                filled[number] = found
            elif part.may_lack:
                return absent(event, part)
        return b"".join(filled)

    return several
