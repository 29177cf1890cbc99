"""
Arithmetic: its examples, which are part of the reference and run as tests.

An operator has a blank on both sides: `%{a-b}` is the attribute `a-b`, and `%{a - b}` a difference. A bare name in
arithmetic that looks like a number or a difference, as `n-1` and `1e3`, is an error; the attribute is then written as a
tag: `%{2 * %{n-1}}`.

Operators are another notation of functions: `a + b` is `add(a, b)`, `a - b` is `sub(a, b)`, `a * b` is `mul(a, b)`,
`a / b` is `ratio(a, b)`, `a % b` is `mod(a, b)`, and `-(a)` is `sub(0, a)`. `* / %` bind closer than `+ -`, and equal
ones go from left to right. A tag has at most 40 operators.

Numbers are whole numbers of at most 100 digits, or decimals of at most 50 digits on each side of the point, with an
exponent of at most 99. They are never floats: results are exact, but for quotients without an end. A result of more
than 400 digits, or of more than 4300 if it is a whole number, is the error `number_too_large`.
"""

from ingest.expressions.functions import FunctionExample

ARITHMETIC_EXAMPLES = (
    FunctionExample("%{bytes / 1024}", "1.5", {"bytes": "1536"}),
    FunctionExample("%{a + b * 2}", "7.2", {"a": "7", "b": "0.1"}),
    FunctionExample("%{(a + b) * 2}", "14.2", {"a": "7", "b": "0.1"}),
    FunctionExample("%{a - b - 1}", "1", {"a": "5", "b": "3"}),
    FunctionExample("%{a-b}", "x", {"a-b": "x"}),
    FunctionExample("%{2 * %{'a:b'}}", "14", {"a:b": "7"}),
    FunctionExample("%{-(n) % 4}", "1", {"n": "7"}),
    FunctionExample("%{n + 1}", "9223372036854775808", {"n": "9223372036854775807"}),
    FunctionExample("%{n / 3}", "0.3333333333333333333333333333333333", {"n": "1"}),
    FunctionExample("%{int(n / 3)}", "2", {"n": "7"}),
    FunctionExample("%{pad_left(n % 16, 2, '0')}", "07", {"n": "23"}),
    FunctionExample("%{n * 1000}", attributes={"n": "7 ms"}, error="not_a_number"),
    FunctionExample("%{total / n}", attributes={"total": "5", "n": "0"}, error="division_by_zero"),
    FunctionExample("%{if(%{n} == 0, 0, total / n)}", "0", {"total": "5", "n": "0"}),
    FunctionExample("%{n + 1}", ""),
)
