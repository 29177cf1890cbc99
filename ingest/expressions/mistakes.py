"""All mistakes of one template, where the parser stops at the first."""

from collections.abc import Callable, Iterator

from ingest.expressions.grammar import ExpressionSyntaxError

_MAX_MISTAKES = 20  # of one template


def further_mistakes(
    text: str, first: ExpressionSyntaxError, parse: Callable[[str], object]
) -> Iterator[ExpressionSyntaxError]:
    """
    The mistakes behind the first one.

    The tag that has it is replaced by plain text of the same length, and all is read again.

    Args:
        text: the template.
        first: what is wrong with it.
        parse: reads a template.
    """
    problem = first
    for _ in range(_MAX_MISTAKES):
        begin = _begin(text, problem.column)
        end = _end(text, begin)
        if end < problem.column:
            return  # there is no end of the tag to go on behind
        text = text[:begin] + "x" * (end - begin) + text[end:]
        try:
            parse(text)
        except ExpressionSyntaxError as error:
            yield error
            problem = error
        else:
            return


def _begin(text: str, column: int) -> int:
    """Where the outermost tag begins that has this column."""
    begin = text.rfind("%", 0, column)
    while text[: max(begin, 0)].rstrip().endswith(("(", ",")) and (outer := text.rfind("%{", 0, begin)) >= 0:
        begin = outer
    return begin


def _end(text: str, begin: int) -> int:
    """Where a tag, or a letter with its percent sign, ends; -1 where it does not."""
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
