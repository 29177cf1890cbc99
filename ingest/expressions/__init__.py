"""
The `%{...}` expression language: templates, conditions and patterns, all compiled before the first event.

- `Template`: text with tags. `%{name}` is a part of the event (body, host, hostname, key, nanos, offset, partition,
  priority, timestamp, topic) or an attribute; `%{'any name'}` is always the attribute; `%{lower(host)}` calls a
  function, `%{a + 1}` is arithmetic; `%Y-%m-%d` writes the event's timestamp in the pipeline's zone; `%%` is a percent
  sign.
- `Condition`: `%{priority} == 'DEBUG' and not exists(user)`, with `< <= > >= != in matches contains
  starts_with ends_with` and parentheses.
- `Pattern`: a regular expression on characters, or on bytes that are not UTF-8.
- `FUNCTIONS`: every function with its parameters, documentation and examples.
- `ExpressionSyntaxError`: the error for invalid text, with the column.

The first three and `ZoneName` can be types of fields in a component's settings. Values are bytes; an absent attribute
is empty. `grammar` defines the grammar, `parser` turns text into nodes, `compiler` turns nodes into closures.
"""

from ingest.expressions.arithmetic import ARITHMETIC_EXAMPLES
from ingest.expressions.compiled import LintWarning
from ingest.expressions.condition import CONDITION_EXAMPLES, Condition, ConditionExample
from ingest.expressions.dates import DATE_DOCS, date_format, zone_of
from ingest.expressions.functions import FUNCTIONS, Function, FunctionExample, Parameter
from ingest.expressions.grammar import CORE_NAMES, ExpressionSyntaxError, is_name, quoted, suggestion
from ingest.expressions.matching import Match
from ingest.expressions.numbers import Number, read_number, write_number
from ingest.expressions.option_type import ZoneName
from ingest.expressions.pattern import Pattern
from ingest.expressions.template import Template

__all__ = [
    "ARITHMETIC_EXAMPLES",
    "CONDITION_EXAMPLES",
    "CORE_NAMES",
    "DATE_DOCS",
    "FUNCTIONS",
    "Condition",
    "ConditionExample",
    "ExpressionSyntaxError",
    "Function",
    "FunctionExample",
    "LintWarning",
    "Match",
    "Number",
    "Parameter",
    "Pattern",
    "Template",
    "ZoneName",
    "date_format",
    "is_name",
    "quoted",
    "read_number",
    "suggestion",
    "write_number",
    "zone_of",
]
