"""Rows, mutations and scans for property tests: few names, so that they often coincide."""

from collections.abc import Iterable
from dataclasses import replace

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from ingest.api import ALL_TIMES, Delete, Durability, FuzzyPattern, Mutation, Put, Scan, TimeRange

EXAMPLES = settings(
    max_examples=25,
    deadline=None,
    # all examples write to one store, each with its own row prefix
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
ROWS = st.sampled_from([b"a", b"a\x00", b"a\xff", b"b"])
COLUMNS = st.tuples(st.sampled_from([b"f", b"g"]), st.sampled_from([b"", b"x", b"x\x00", b"y:z"]))
TIMES = st.integers(min_value=1, max_value=6)
MUTATIONS = st.one_of(
    st.builds(
        lambda row, cells, at: Put(row, {family + b":" + name: value for (family, name), value in cells.items()}, at),
        ROWS,
        st.dictionaries(COLUMNS, st.binary(max_size=2), min_size=1, max_size=4),
        TIMES,
    ),
    st.builds(Delete, ROWS, TIMES),
    st.builds(Delete, ROWS, TIMES, st.sampled_from([b"f", b"g"])),
    st.builds(lambda row, at, column: Delete(row, at, *column), ROWS, TIMES, COLUMNS),
    st.builds(lambda row, at, column: replace(Delete(row, at, *column), exact=True), ROWS, TIMES, COLUMNS),
)


def patterns(values: Iterable[bytes]) -> st.SearchStrategy[tuple[FuzzyPattern, ...]]:
    """Up to two patterns of these bytes and positions of any byte."""
    positions = st.one_of(st.sampled_from(list(values)), st.none())
    pattern = st.lists(positions, max_size=4).map(
        lambda found: FuzzyPattern(b"".join(byte or b"\0" for byte in found), bytes(byte is None for byte in found))
    )
    return st.lists(pattern, max_size=2).map(tuple)


TIME_RANGES = st.one_of(
    st.just(ALL_TIMES),
    TIMES.map(TimeRange),
    st.tuples(st.integers(min_value=0, max_value=6), TIMES).map(lambda ends: TimeRange(ends[0], ends[0] + ends[1])),
)
SCANS = st.builds(
    Scan,
    start=st.one_of(st.just(b""), ROWS, st.just(b"a0")),
    stop=st.one_of(st.none(), ROWS, st.just(b"c")),
    prefix=st.sampled_from([b"", b"a", b"a\xff", b"b", b"zz"]),
    columns=st.one_of(
        st.none(),
        st.lists(st.sampled_from([b"f", b"g", b"f:", b"f:x", b"g:y:z"]), min_size=1, max_size=3).map(tuple),
    ),
    versions=st.integers(min_value=1, max_value=4),
    limit=st.one_of(st.none(), st.integers(min_value=1, max_value=3)),
    reverse=st.booleans(),
    page_rows=st.integers(min_value=1, max_value=3),
    fuzzy=patterns([b"a", b"b", b"\x00", b"\xff"]),
    times=TIME_RANGES,
)


def put(row: bytes, at: int, *, durability: Durability = Durability.SYNC, **columns: bytes) -> Put:
    """A put with columns as `family_qualifier=value`."""
    return Put(row, {name.replace("_", ":", 1).encode(): value for name, value in columns.items()}, at, durability)


def scan_with_prefix(prefix: bytes, scan: Scan) -> Scan:
    """The same scan of rows with a prefix before their row keys."""
    return replace(
        scan,
        start=prefix + scan.start,
        stop=None if scan.stop is None else prefix + scan.stop,
        prefix=prefix + scan.prefix,
        fuzzy=tuple(pattern.prefixed(prefix) for pattern in scan.fuzzy),
    )


def with_prefix(prefix: bytes, mutation: Mutation) -> Mutation:
    """The same mutation with a prefix before its row key, and a copy of its columns."""
    if isinstance(mutation, Put):
        return Put(prefix + mutation.row, dict(mutation.columns), mutation.timestamp_ms)
    return replace(mutation, row=prefix + mutation.row)
