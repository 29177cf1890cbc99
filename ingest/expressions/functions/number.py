"""Functions on numbers. Arithmetic is exact, on whole numbers and on decimals."""

from collections.abc import Callable
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal, DecimalException, Inexact

from ingest.api.errors import ExpressionError
from ingest.api.event_errors import NotANumberError, NumberTooLargeError
from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter
from ingest.expressions.numbers import EXACT, MAX_DIGITS, Number, inverted_text, long_bytes

_MAX_WHOLE = 10**4300  # Python writes no more digits, and each product stays quick
_QUOTIENT = Context(prec=34, rounding=ROUND_HALF_EVEN, traps=[])  # the digits of an IEEE decimal128
_EXACT_QUOTIENT = Context(prec=100, traps=[Inexact])  # as many digits as a number that is read
_ROUNDED = Context(prec=EXACT.prec, rounding=ROUND_HALF_UP)  # rounding only takes digits away


class DivisionByZeroError(ExpressionError):
    """The divisor of a quotient or remainder is zero."""

    code = "division_by_zero"
    remedy = "Choose another value for zero, as in `%{if(%{n} == 0, 0, total / n)}`, or exclude zero with a `when`."


def _add(*numbers: Number) -> Number:
    total: Number = numbers[0]
    for number in numbers[1:]:
        if isinstance(total, int) and isinstance(number, int):
            total = _bounded(total + number)
        else:
            total = _exactly(EXACT.add, total, number)
    return total


def _subtract(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        return _bounded(left - right)
    return _exactly(EXACT.subtract, left, right)


def _multiply(*numbers: Number) -> Number:
    total: Number = numbers[0]
    for number in numbers[1:]:
        if isinstance(total, int) and isinstance(number, int):
            total = _bounded(total * number)
        else:
            total = _exactly(EXACT.multiply, total, number)
    return total


def _divide(left: Number, right: Number) -> int:
    _refuse_zero(right)
    return _floor(left, right)


def _modulo(left: Number, right: Number) -> Number:
    _refuse_zero(right)
    if isinstance(left, int) and isinstance(right, int):
        return left % right
    return _exactly(EXACT.subtract, left, _exactly(EXACT.multiply, _floor(left, right), right))


def _ratio(left: Number, right: Number) -> Number:
    _refuse_zero(right)
    if isinstance(left, int) and isinstance(right, int) and left % right == 0:
        return left // right
    if not left:
        return 0
    one, other = Decimal(left), Decimal(right)
    try:
        quotient = _EXACT_QUOTIENT.divide(one, other)
    except Inexact:
        quotient = _QUOTIENT.divide(one, other)
    try:
        return quotient.normalize(EXACT)
    except DecimalException as error:
        raise NumberTooLargeError("the result has too many digits") from error


def _bounded(number: int) -> int:
    if -_MAX_WHOLE < number < _MAX_WHOLE:
        return number
    raise NumberTooLargeError("the result has too many digits")


def _floor(left: Number, right: Number) -> int:
    if isinstance(left, int) and isinstance(right, int):
        return left // right
    numerator, denominator = left.as_integer_ratio()  # integers, because a quotient may exceed the decimal precision
    right_numerator, right_denominator = right.as_integer_ratio()
    return (numerator * right_denominator) // (denominator * right_numerator)


def _exactly(operation: Callable[[Decimal, Decimal], Decimal], left: Number, right: Number) -> Decimal:
    try:
        return operation(Decimal(left), Decimal(right))
    except DecimalException as error:
        raise NumberTooLargeError("the result has too many digits") from error


def _refuse_zero(divisor: Number) -> None:
    if divisor == 0:
        raise DivisionByZeroError("division by zero")


def _int(number: Number) -> int:
    return number if isinstance(number, int) else int(number.to_integral_value(ROUND_DOWN))


def _round(digits: int) -> Callable[[Number], Number]:
    least = Decimal(1).scaleb(-digits)

    def rounded(number: Number) -> Number:
        if isinstance(number, int):
            return number
        exponent = number.as_tuple().exponent
        if not isinstance(exponent, int) or exponent >= -digits:
            return number
        result = number.quantize(least, context=_ROUNDED)
        return result or result.copy_abs()  # no "-0.00"

    return rounded


def _hex(number: Number) -> bytes:
    return b"%x" % _whole(number)


def _whole(number: Number) -> int:
    """The number as an int; an error if it has a fraction, so that different numbers never get the same row key."""
    whole = int(number)
    if whole != number:
        raise NotANumberError(f'"{number}" is not a whole number')
    return whole


def _long_bytes(number: Number) -> bytes:
    return long_bytes(_whole(number))


def _inverted(number: Number) -> bytes:
    return inverted_text(_whole(number))


_NUMBER = Parameter("number", Kind.NUMBER, "the input")
_BY = Parameter("by", Kind.NUMBER, "the divisor", nonzero=True)

FUNCTIONS = (
    Function(
        "add",
        "The sum.",
        lambda: _add,
        (_NUMBER, Parameter("other", Kind.NUMBER, "number to add", repeated=True)),
        (
            FunctionExample("%{add(n, 1)}", "8", {"n": "7"}),
            FunctionExample("%{add(n, 0.1)}", "0.3", {"n": "0.2"}),
            FunctionExample("%{add(n, 1)}", attributes={"n": "seven"}, error="not_a_number"),
            FunctionExample("%{add(n, 1)}", ""),
            FunctionExample("%{add(default(n, 0), 1)}", "1"),
        ),
        gives_number=True,
    ),
    Function(
        "sub",
        "The difference.",
        lambda: _subtract,
        (_NUMBER, Parameter("other", Kind.NUMBER, "number to subtract")),
        (
            FunctionExample("%{sub(n, 10)}", "-3", {"n": "7"}),
            FunctionExample("%{sub(timestamp, 1)}", "-1"),
        ),
        gives_number=True,
    ),
    Function(
        "mul",
        "The product.",
        lambda: _multiply,
        (_NUMBER, Parameter("other", Kind.NUMBER, "factor", repeated=True)),
        (
            FunctionExample("%{mul(n, 1000)}", "7000", {"n": "7"}),
            FunctionExample("%{mul(n, 1.5)}", "10.5", {"n": "7"}),
        ),
        gives_number=True,
    ),
    Function(
        "div",
        "The whole quotient, rounded down.",
        lambda: _divide,
        (_NUMBER, _BY),
        (
            FunctionExample("%{div(n, 2)}", "3", {"n": "7"}),
            FunctionExample("%{div(n, 2)}", "-4", {"n": "-7"}),
            FunctionExample("%{div(1, n)}", attributes={"n": "0"}, error="division_by_zero"),
        ),
        gives_number=True,
    ),
    Function(
        "mod",
        "The remainder of the division, with the sign of the divisor.",
        lambda: _modulo,
        (_NUMBER, _BY),
        (
            FunctionExample("%{mod(offset, 2)}", "0"),
            FunctionExample("%{mod(n, 4)}", "1", {"n": "-7"}),
            FunctionExample("%{mod(n, 7)}", "2", {"n": "1e80"}),
            FunctionExample("%{mod(1, n)}", attributes={"n": "0"}, error="division_by_zero"),
        ),
        gives_number=True,
    ),
    Function(
        "ratio",
        "The quotient: exact if it has at most 100 digits, else rounded to 34, half to even. `div` gives whole ones.",
        lambda: _ratio,
        (_NUMBER, _BY),
        (
            FunctionExample("%{ratio(n, 2)}", "3.5", {"n": "7"}),
            FunctionExample("%{ratio(n, 3)}", "0.3333333333333333333333333333333333", {"n": "1"}),
            FunctionExample("%{int(ratio(n, 3))}", "2", {"n": "7"}),
            FunctionExample("%{ratio(1, n)}", attributes={"n": "0"}, error="division_by_zero"),
        ),
        gives_number=True,
    ),
    Function(
        "int",
        "The number without its fraction and without leading zeros.",
        lambda: _int,
        (_NUMBER,),
        (
            FunctionExample("%{int(n)}", "7", {"n": "007"}),
            FunctionExample("%{int(n)}", "-2", {"n": "-2.9"}),
            FunctionExample("%{int(n)}", attributes={"n": ""}, error="not_a_number"),
        ),
        gives_number=True,
    ),
    Function(
        "round",
        "The number with at most so many digits after the point, half away from zero, as a DECIMAL of SQL.",
        _round,
        (
            _NUMBER,
            Parameter(
                "digits",
                Kind.INTEGER,
                "digits after the point; none if left out",
                required=False,
                default=0,
                maximum=MAX_DIGITS,
            ),
        ),
        (
            FunctionExample("%{round(price, 2)}", "12.35", {"price": "12.345"}),
            FunctionExample("%{round(price, 2)}", "-12.35", {"price": "-12.345"}),
            FunctionExample("%{round(price, 2)}", "12.5", {"price": "12.5"}),
            FunctionExample("%{round(n / 3)}", "2", {"n": "5"}),
            FunctionExample("%{round(n, 2)}", attributes={"n": "much"}, error="not_a_number"),
        ),
        gives_number=True,
    ),
    Function(
        "hex",
        "A whole number in hexadecimal digits.",
        lambda: _hex,
        (_NUMBER,),
        (
            FunctionExample("%{hex(n)}", "ff", {"n": "255"}),
            FunctionExample("%{pad_left(hex(n), 4, '0')}", "00ff", {"n": "255"}),
            FunctionExample("%{hex(n)}", attributes={"n": "7.9"}, error="not_a_number"),
        ),
    ),
    Function(
        "long_bytes",
        "A whole number as 8 bytes, most significant first, as HBase's own tools write a long.",
        lambda: _long_bytes,
        (_NUMBER,),
        (
            FunctionExample("%{long_bytes(n)}", b"\x00\x00\x00\x00\x00\x00\x01\x00", {"n": "256"}),
            FunctionExample("%{long_bytes(n)}", attributes={"n": "9223372036854775808"}, error="number_too_large"),
            FunctionExample("%{long_bytes(n)}", attributes={"n": "7.9"}, error="not_a_number"),
        ),
    ),
    Function(
        "inverted",
        "The largest signed 64-bit number minus a whole number, in 19 digits: larger numbers sort first.",
        lambda: _inverted,
        (_NUMBER,),
        (
            FunctionExample("%{inverted(n)}", "9223372036854775800", {"n": "7"}),
            FunctionExample("%{inverted(n)}", attributes={"n": "-1"}, error="negative_number"),
            FunctionExample("%{inverted(n)}", attributes={"n": "7.9"}, error="not_a_number"),
        ),
    ),
)
