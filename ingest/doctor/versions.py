"""The support matrix: versions of other products and systems that attr2hbase needs, and those it is tested with."""

import re
from dataclasses import dataclass

from ingest.doctor.examination import Finding, Found, Severity

Version = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Support:
    """
    The supported versions of a product.

    Attributes:
        oldest: earlier ones are not supported.
        newest: the newest one that is expected to work.
        tested: those that a run of tests has used; digits that it does not list do not count.
        below: severity of an earlier version.
        why: what an earlier version lacks.
        effect: of an earlier version, for the README.
    """

    product: str
    oldest: Version
    newest: Version
    tested: tuple[Version, ...]
    below: Severity
    why: str
    effect: str


_REPORTED = "`attr2hbase doctor` reports an error"
MATRIX = {
    "python": Support(
        "Python",
        (3, 11),
        (3, 13),
        ((3, 11), (3, 12), (3, 13)),
        Severity.ERROR,
        "attr2hbase does not start with it",
        "pip refuses it",
    ),
    "java": Support("Java", (17,), (17,), ((17,),), Severity.ERROR, "Spark 4 does not start with it", _REPORTED),
    "spark": Support(
        "PySpark",
        (4, 2),
        (4, 2),
        ((4, 2),),
        Severity.ERROR,
        "attr2hbase uses functions that it lacks",
        "pip refuses it",
    ),
    "kafka": Support(
        "Kafka",
        (2, 8),
        (4, 4),
        ((3, 9), (4, 1), (4, 4)),
        Severity.WARNING,
        "without topic ids, a recreated topic is not detected",
        "`attr2hbase doctor` warns",
    ),
    "hbase": Support(
        "HBase",
        (2, 0),
        (3, 0),
        ((2, 4), (2, 5), (2, 6), (3, 0)),
        Severity.ERROR,
        "its Thrift server and its settings differ",
        _REPORTED,
    ),
}

_PLATFORMS = (
    (
        "Operating system",
        "Linux (Debian 12)",
        "other Linux distributions with glibc, macOS",
        "Windows: every command refuses it",
    ),
    ("CPU", "x86-64", "aarch64", "32 bits: no PyArrow"),
)


def support_table() -> str:
    """The matrix as Markdown, for the README."""
    rows = ["| | tested by a run | expected to work | not supported |", "|---|---|---|---|"]
    for support in MATRIX.values():
        tested = ", ".join(map(dotted, support.tested))
        is_one = support.tested == (support.oldest,) == (support.newest,)
        expected = "" if is_one else f"{dotted(support.oldest)} to {dotted(support.newest)}"
        older = f"older than {dotted(support.oldest)}: {support.effect}"
        rows.append(f"| {support.product} | {tested} | {expected} | {older} |")
    rows += [f"| {' | '.join(row)} |" for row in _PLATFORMS]
    return "\n".join(rows)


def rated(check: str, product: str, version: Version, *, subject: str = "", docs: str = "") -> Found:
    """
    The version of a product, compared with the matrix.

    An older version is a finding; so is, as an info, one that is newer than those expected to work. Digits that the
    matrix does not list do not count: 4.1.2 is 4.1.

    Args:
        check: id of the check.
        product: key of the matrix.
        version: found.
        subject: what was examined.
        docs: the section of the documentation on the check.
    """
    support = MATRIX[product]
    text = f"{support.product} {dotted(version)}"
    if version < support.oldest:
        message = f"{text} is older than {dotted(support.oldest)}"
        severity, why = support.below, support.why
    elif version[: len(support.newest)] > support.newest:
        message = f"{text} is newer than {dotted(support.newest)}, the newest known one"
        severity, why = Severity.INFO, "it may work, but no test has run with it"
    else:
        return Found(text)
    numbers = {"version": dotted(version), "oldest": dotted(support.oldest), "newest": dotted(support.newest)}
    return Found(text, (Finding(check, severity, message, subject, numbers, why=why, docs=docs),))


def dotted(version: Version) -> str:
    """As in `4.1`."""
    return ".".join(map(str, version))


def numbers_of(text: str) -> Version:
    """The leading numbers of a version, as in 4.2.0.dev1."""
    parts = re.match(r"\d+(\.\d+)*", text)
    return tuple(map(int, parts[0].split("."))) if parts else ()
