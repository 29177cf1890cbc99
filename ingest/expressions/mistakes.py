"""Finds the syntax errors of a template after the first, at which the parser stops."""

from collections.abc import Callable, Iterator

from ingest.expressions.grammar import ExpressionSyntaxError

_MAX_MISTAKES = 20  # in one template


def further_mistakes(
    text: str, first: ExpressionSyntaxError, parse: Callable[[str], object]
) -> Iterator[ExpressionSyntaxError]:
    """
    The errors after the first one.

    Replaces the tag with the error by plain text of the same length and parses again, until there is no error.

    Args:
        text: the template.
        first: its first error.
        parse: parses a template.
    """
    problem = first
    for _ in range(_MAX_MISTAKES):
        begin = _begin(text, problem.column)
        end = _end(text, begin)
        if end < problem.column:
            return  # the tag is not closed
        text = text[:begin] + "x" * (end - begin) + text[end:]
        try:
            parse(text)
        except ExpressionSyntaxError as error:
            yield error
            problem = error
        else:
            return


def _begin(text: str, column: int) -> int:
    """Start of the outermost tag, or of the date letter, that contains this column; -1 if there is none."""
    at = text.find("%")
    while 0 <= at < column:
        end = _end(text, at)
        if end < 0 or (end >= column and not text.startswith("%%", at)):
            return at
        at = text.find("%", end)
    return -1


def _end(text: str, begin: int) -> int:
    """End of a tag or date letter that starts at `begin`; -1 if it is not closed."""
    if begin < 0:
        return -1
    if not text.startswith("%{", begin):
        return min(begin + 2, len(text))
    depth, is_quoted = 0, False
    for at in range(begin + 1, len(text)):
        if text[at] == "'":
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            if depth == 0:
                return at + 1
    return -1
