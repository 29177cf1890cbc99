"""Which records a re-run has read."""

from ingest.service.archive.records import RecordsRead


def test_records_that_the_topic_lost_between_two_rounds_were_not_read():
    done = RecordsRead()
    assert done.rest_of({("t", 0): (10, 20), ("t", 1): (5, 5)}) == {("t", 0): (10, 20)}
    done.add({("t", 0): (10, 20)})
    assert done.rest_of({("t", 0): (10, 20)}) == {}
    rest = done.rest_of({("t", 0): (25, 30), ("t", 1): (0, 2)})
    assert rest == {("t", 0): (25, 30), ("t", 1): (0, 2)}
    done.add(rest)
    assert [offset for offset in range(40) if ("t", 0, offset) in done] == [*range(10, 20), *range(25, 30)]
    assert [offset for offset in range(40) if ("t", 1, offset) in done] == [0, 1]
    assert ("other", 0, 12) not in done


def test_only_later_records_are_left():
    done = RecordsRead()
    done.add({("t", 0): (10, 20)})
    assert done.rest_of({("t", 0): (5, 22)}) == {("t", 0): (20, 22)}
