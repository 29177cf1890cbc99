"""Expressions of Java find, replace and split the same here."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from ingest.flume.patterns import UntranslatableError, each_of, in_full, pattern_of, replacement_of, separator_of
from tests.support.java_text import escaped, unescaped

GOLDEN = Path(__file__).parent / "golden" / "java-regex-17.tsv"
TRANSLATE = {
    "find": pattern_of,
    "matches": in_full,
    "serializer": lambda java: in_full(java, "s"),
    "serializeri": lambda java: in_full(java, "is"),
    "replace": each_of,
    "split": separator_of,
}
NOT_TRANSLATED = {
    r"\p{L}+", r"\p{Lu}", r"\p{IsAlphabetic}+", r"\p{javaLowerCase}+", r"\p{InGreek}+", r"\p{IsLatin}+",
    r"[\p{L}\d]+", r"[\w&&[^a]]+", "[a-c[x-z]]+", "a(?i)b", "(?x) a b", "(?<=a+)b", "(?<=a{1,2})b", r"\11", r"(a)\11",
    "(?u)é", r"(?U)\w+", r"\G a", "[a-z&&[^b]]+", "[ab&&b]", r"\X",
}  # fmt: skip
ACCEPTED = {"a{,2}", "{a", "a{"}  # Java refuses them
WORDS = re.compile(r"\\[bB]")
NO_WORD_HERE = re.compile("[²Ⅷ\u0301]")  # Python's words have numbers that are no digits, and no combining marks
BEYOND_THE_BASIC_PLANE = re.compile("[\U00010000-\U0010ffff]")  # Java finds an empty match inside of such a character


def rows():
    """Operation, expression, text, replacement and result of each row."""
    lines = GOLDEN.read_text("ascii").split("\n")[:-1]
    return [tuple(line.split("\t")) for line in lines if not line.startswith("#")]


def grouped():
    found = defaultdict(list)
    for operation, java, *rest in rows():
        found[operation, unescaped(java)].append(rest)
    return found


GROUPED = grouped()


def shown(value):
    return "~null" if value is None else escaped(value.decode())


def result(operation, pattern, data, replacement):
    """What the translation does, in the form of the table."""
    if operation == "replace":
        return shown(pattern.replacer(replacement_of(unescaped(replacement), pattern.groups))(data))
    if operation == "split":
        pieces = pattern.split(data)
        while len(pieces) > 1 and not pieces[-1]:
            pieces.pop()
        return "|".join(map(shown, pieces))
    match = pattern.search(data)
    return "none" if match is None else "|".join(map(shown, (match[0], *match.groups())))


def differs(operation, java, text):
    """Whether the guide says that the result is another one."""
    is_word = WORDS.search(java) is not None and NO_WORD_HERE.search(text) is not None
    is_split = operation in ("replace", "split") or java.startswith(r"\B")
    return is_word or (is_split and BEYOND_THE_BASIC_PLANE.search(text) is not None)


@pytest.mark.parametrize(("operation", "java"), GROUPED)
def test_results_are_those_of_java(operation, java):
    found = GROUPED[operation, java]
    if java in NOT_TRANSLATED or found[0][-1] == "bad pattern":
        if java not in ACCEPTED:
            with pytest.raises(UntranslatableError):
                TRANSLATE[operation](java)
        return
    pattern = TRANSLATE[operation](java)
    wanted, ours = {}, {}
    for text, *replacement, expected in found:
        if not differs(operation, java, unescaped(text)):
            wanted[text] = expected
            ours[text] = result(operation, pattern, unescaped(text).encode(), "".join(replacement))
    assert wanted == ours


@pytest.mark.parametrize(
    ("java", "text", "replaced"),
    [(r"\b\w+\b", "²x", "²x"), ("x*", "a😀", "-a-😀-"), (r"\B", "a²", "a-²")],
)
def test_differences_of_the_guide(java, text, replaced):
    assert each_of(java).replacer("-")(text.encode()).decode() == replaced


@pytest.mark.parametrize(
    ("java", "text", "new", "expected"),
    [
        (r"\s*$", "line \r\n", "!", "line!!"),
        ("^", "a\r\nb", "> ", "> a\r\nb"),
        ("(?m)^", "a\r\nb\r\n", "> ", "> a\r\n> b\r\n"),
        ("(?m)$", "a\r\nb", ";", "a;\r\nb;"),
        (r"[^\x20-\x7e]", "a\u0085bé", "?", "a?b?"),
    ],
)
def test_replacements_at_line_ends_are_those_of_java(java, text, new, expected):
    """OpenJDK 17.0.15."""
    pattern = each_of(java)
    assert pattern.replacer(replacement_of(new, pattern.groups))(text.encode()).decode() == expected


@pytest.mark.parametrize(
    ("java", "text", "groups"),
    [
        (r"(\d):(\d):(\d)", "1:2:3.4foobar5", ("1", "2", "3")),
        (r"^(?:\n)?(\d\d\d\d-\d\d-\d\d\s\d\d:\d\d)", "2012-10-16 18:47:57,614 some log line", ("2012-10-16 18:47",)),
        (r"^(\S+)\s+(\S+)$", "GET /x\r\n", ("GET", "/x")),
    ],
)
def test_extractors_of_flumes_user_guide(java, text, groups):
    """The examples of the Regex Extractor Interceptor, and an anchor before CR LF."""
    assert pattern_of(java).search(text.encode()).groups() == tuple(group.encode() for group in groups)
