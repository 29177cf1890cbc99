"""Conditions, as in `when:` and rules, compiled once; an option type."""

from dataclasses import dataclass, field, replace

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from ingest.api.errors import EventError
from ingest.api.event import Event
from ingest.expressions.clauses import ClauseBuilder, Holds
from ingest.expressions.compiled import LintWarning
from ingest.expressions.compiler import Compiler
from ingest.expressions.option_type import DEFAULT_ZONE, option_schema
from ingest.expressions.parser import parse_condition


@dataclass(frozen=True, slots=True)
class ConditionExample:
    """
    A condition and its result for an event with these attributes; part of the reference, and run as a test.

    The event's priority is DEBUG and its offset is 7.
    """

    written: str
    attributes: dict[str, str] = field(default_factory=dict, hash=False)
    holds: bool = True
    says: str = ""


CONDITION_EXAMPLES = (
    ConditionExample("%{priority} == 'DEBUG'", says="text is equal byte for byte"),
    ConditionExample("%{status} >= 500", {"status": "503"}, says="a number without quotes: both sides are numbers"),
    ConditionExample("%{status} >= '500'", {"status": "60"}, says="quoted text: both sides are bytes"),
    ConditionExample("%{status} < 500", {"status": "-"}, holds=False, says="text that is not a number is not smaller"),
    ConditionExample("%{status} != 500", {"status": "-"}, says="and not equal to any number"),
    ConditionExample("%{n} == 7.0", {"n": "7"}, says="numbers are equal as numbers"),
    ConditionExample("%{offset} == %{n}", {"n": "7"}, says="two values; an offset is always a number"),
    ConditionExample("%{level} in ('WARN', 'ERROR')", {"level": "INFO"}, holds=False, says="one of a list"),
    ConditionExample("%{level} not in ('WARN', 3)", {"level": "INFO"}, says="text and numbers in one list"),
    ConditionExample("%{path} matches '^/api/v[0-9]+/'", {"path": "/api/v2/x"}, says="a pattern matches anywhere"),
    ConditionExample("%{path} not matches '\\.css$'", {"path": "/a.css"}, holds=False, says="or does not match"),
    ConditionExample("%{city} matches '^.öln$'", {"city": "Köln"}, says="a dot is a character"),
    ConditionExample("%{path} starts_with '/health'", {"path": "/healthz"}, says="literal text, not a pattern"),
    ConditionExample("%{host} not ends_with '.internal'", says="the same at the end"),
    ConditionExample("%{lower(agent)} contains 'bot'", {"agent": "GoogleBot/2.1"}, says="or anywhere"),
    ConditionExample("exists(user)", {"user": ""}, says="an empty attribute exists"),
    ConditionExample("%{user} == ''", says="an absent one compares as empty"),
    ConditionExample("exists(%{add(n, 1)})", holds=False, says="a function of an absent one is absent"),
    ConditionExample("exists('2hb_cf:q')", {"2hb_cf:q": "x"}, says="any name, in quotes"),
    ConditionExample(
        "exists(%{extract(path, '[0-9]+')})", {"path": "/x"}, holds=False, says="the result of a function"
    ),
    ConditionExample("exists(a) or exists(b) and not exists(a)", {"a": "1"}, says="precedence: not, and, or"),
    ConditionExample("(exists(a) or exists(b)) and not exists(a)", {"a": "1"}, holds=False, says="parentheses"),
    ConditionExample("%{name} == 'it''s'", {"name": "it's"}, says="a quote inside is written twice"),
)


@dataclass(frozen=True, slots=True)
class Condition:
    """
    A predicate on events; an option type.

    Values are compared as numbers if one side is a number (written without quotes, or always a number, such as
    `%{offset}`) and the other side is not quoted text; otherwise as bytes. A value that is not a number is not equal to
    any number, nor smaller or greater. `contains`, `starts_with` and `ends_with` always compare bytes. An absent
    attribute compares as empty text; only `exists` distinguishes the two. A core value exists if it is not empty.

    Conditions with the same text and zone are equal, and are pickled as these two.

    Attributes:
        text: the source text.
        zone: name of the time zone for dates.
        references: what it reads: core names, and attributes as `attribute:NAME`.
        holds: evaluates it for an event. Raises ExpressionError if a function fails.
        lint_warnings: parts that are valid but probably a mistake.
    """

    text: str
    zone: str
    references: frozenset[str] = field(compare=False, repr=False)
    holds: Holds = field(compare=False, repr=False)
    lint_warnings: tuple[LintWarning, ...] = field(default=(), compare=False, repr=False)

    @property
    def constant(self) -> bool | None:
        """Its result, if it reads nothing of the event; None if it does, or if it always fails."""
        if self.references:
            return None
        try:
            return bool(self.holds(Event(b"")))
        except EventError:
            return None

    @classmethod
    def parse(cls, text: str, zone: str = DEFAULT_ZONE) -> "Condition":
        """
        Parse and compile a condition.

        Raises:
            ExpressionSyntaxError: the text is not a valid condition.
        """
        compiler = Compiler(text, zone)
        builder = ClauseBuilder(compiler)
        holds = builder.clause(parse_condition(text))
        return cls(
            text=text,
            zone=zone,
            references=frozenset(builder.references),
            holds=holds,
            lint_warnings=tuple(compiler.lint_warnings),
        )

    def for_values(self) -> "Condition":
        """The same for events of records with a value; no tombstone meets it. It has the same text."""
        holds = self.holds
        return replace(self, holds=lambda event: not event.tombstone and holds(event))

    def __reduce__(self) -> tuple[object, ...]:
        return Condition.parse, (self.text, self.zone)

    def __str__(self) -> str:
        return self.text

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: GetCoreSchemaHandler) -> CoreSchema:
        return option_schema(cls, cls.parse, "bad_expression")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "format": "condition"}
