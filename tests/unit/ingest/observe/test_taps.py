"""The taps of a service."""

import pytest

from ingest.api import ConflictError, NotFoundError
from ingest.api.taps import MAX_ATTRIBUTES, Tap, TapCounts
from ingest.observe.taps import MAX_BYTES, MAX_LINES, MAX_TAPS, UNREAD_S, Taps

ALL = Tap("")


class Times:
    """A clock that a test sets."""

    now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_reader_takes_each_line_once():
    taps = Taps()
    tap = taps.open("p", Tap("", "parse", where="x"))
    (known,) = taps.of("p")
    assert (known.id, known.at, known.where, taps.of("q")) == (tap, "parse", "x", ())
    taps.deliver([(tap, b"1"), ("other", b"2")])
    assert taps.take(tap) == ([b"1"], 0, TapCounts())
    assert taps.take(tap) == ([], 0, TapCounts())


def test_tap_ends_when_its_reader_goes():
    times = Times()
    taps = Taps(times)
    closed, unread, read = (taps.open("p", ALL) for _ in range(3))
    taps.close(closed)
    taps.close(closed)
    times.now += UNREAD_S - 1
    taps.take(read)
    times.now += 2
    assert [each.id for each in taps.of("p")] == [read]
    for gone in (closed, unread):
        with pytest.raises(NotFoundError):
            taps.take(gone)
    taps.deliver([(unread, b"1")])


def test_oldest_lines_are_left_out():
    taps = Taps()
    tap = taps.open("p", ALL)
    taps.deliver((tap, b"%d" % number) for number in range(MAX_LINES + 5))
    found, left_out, counts = taps.take(tap)
    assert counts is None
    assert (found[0], len(found), left_out) == (b"5", MAX_LINES, 5)
    taps.deliver((tap, b"x" * (MAX_BYTES // 2)) for _ in range(5))
    assert [len(taps.take(tap)[0]), taps.take(tap)] == [2, ([], 0, None)]


def test_counts_of_tasks_add_up():
    taps = Taps()
    tap = taps.open("p", Tap("", where="x"))
    taps.deliver((), [(tap, TapCounts(2, 1, 0, "", {"a", "b"}, {"c"})), ("other", TapCounts(9))])
    first = taps.take(tap).counts
    assert first == TapCounts(2, 1, 0, "", {"a", "b"}, {"c"})
    names = {f"n{number:03}" for number in range(MAX_ATTRIBUTES)}
    taps.deliver((), [(tap, TapCounts(3, 0, 1, "why", {"b"}, names)), (tap, TapCounts(absent={"a", "b"}))])
    counts = taps.take(tap).counts
    assert counts is not None
    assert (counts.compared, counts.met, counts.failed, counts.error, counts.absent) == (5, 1, 1, "why", {"b"})
    assert ("c" in counts.attributes, len(counts.attributes)) == (True, MAX_ATTRIBUTES)
    assert first is not None
    assert first.attributes == {"c"}


def test_number_of_taps_is_bounded():
    taps = Taps()
    opened = [taps.open("p", ALL) for _ in range(MAX_TAPS)]
    with pytest.raises(ConflictError, match="taps already"):
        taps.open("p", ALL)
    taps.close(opened[0])
    taps.open("p", ALL)
