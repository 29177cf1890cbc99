"""The function `if`. Its condition is syntax, and it evaluates one argument, so the parser and the compiler know it."""

from ingest.expressions.functions.function import Function, FunctionExample, Kind, Parameter


def _chosen(holds: bool, then: bytes | None, otherwise: bytes | None) -> bytes | None:  # noqa: FBT001 - no option
    return then if holds else otherwise


FUNCTIONS = (
    Function(
        "if",
        "The second argument if the condition is true, else the third; the other one is not evaluated. An absent "
        "attribute in the condition compares as empty, as in `when`.",
        lambda: _chosen,
        (
            Parameter("condition", Kind.CONDITION, "see [conditions](#conditions)"),
            Parameter("then", Kind.VALUE, "the result if it is true"),
            Parameter("otherwise", Kind.VALUE, "the result if it is not"),
        ),
        (
            FunctionExample("%{if(%{status} >= 500, 'bad', 'good')}", "bad", {"status": "503"}),
            FunctionExample("%{if(%{status} >= 500, 'bad', 'good')}", "good"),
            FunctionExample("%{if(exists(user) and %{user} != '-', lower(user), 'none')}", "ann", {"user": "Ann"}),
            FunctionExample("%{if(%{n} == 0, 0, 100 / n)}", "0", {"n": "0"}),
            FunctionExample("%{if(exists(a), a, b)}", ""),
            FunctionExample("%{if(%{n} < 10, 's', if(%{n} < 100, 'm', 'l'))}", "m", {"n": "50"}),
        ),
        lenient=True,
    ),
)
