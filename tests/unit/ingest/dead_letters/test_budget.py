"""The error budget."""

import math

import pytest

from ingest.api import Disposition, ErrorBudgetSpentError
from ingest.dead_letters.budget import ErrorBudget
from ingest.dead_letters.envelope import PlaceRange


def budget(share=0.05, min_events=1000, window_s=300.0) -> ErrorBudget:
    return ErrorBudget(share=share, min_events=min_events, window_s=window_s)


@pytest.mark.parametrize(
    ("batches", "spent"),
    [
        ([(0, 999, 999)], [False]),
        ([(0, 1000, 50)], [False]),
        ([(0, 1000, 51)], [True]),
        ([(0, 0, 0), (2, 0, 0)], [False, False]),
        ([(0, 900, 90), (1000, 100, 0)], [False, True]),
        ([(0, 900, 900), (300_000, 100, 0)], [False, True]),
        ([(0, 900, 900), (300_001, 1000, 0)], [False, False]),
        ([(0, 900, 900), (0, 900, 0), (2, 1000, 60)], [False, False, False]),
        ([(0, 900, 900), (2, 900, 0), (0, 900, 0)], [False, True, False]),
        ([(0, 1000, 49.9), (2, 1000, 50.3)], [False, True]),
    ],
    ids=[
        "fewer than the minimum",
        "exactly the limit",
        "above the limit",
        "no events",
        "batches add up",
        "start of the window is inclusive",
        "batches before the window do not count",
        "replay of a batch counts once",
        "an earlier time removes later ones",
        "records that failed in part",
    ],
)
def test_batches_spend_the_budget(batches, spent):
    each = budget()
    assert [each.spend(*batch) for batch in batches] == spent


def test_share_of_one_never_stops():
    assert not budget(share=1.0, min_events=0).spend(0, 10, 10)


def test_share_of_one_tolerates_rounding_errors():
    assert not budget(share=1.0, min_events=0).spend(0, 10, math.nextafter(10, 11))


def test_share_of_zero_stops_at_the_first_failure():
    each = budget(share=0.0, min_events=0)
    assert [each.spend(0, 10, 0), each.spend(2, 10, 1)] == [False, True]


def test_error_has_figures_and_a_hint():
    each = budget()
    each.check(0, 900, 10)
    with pytest.raises(ErrorBudgetSpentError) as caught:
        each.check(2, 1100, 140.5)
    assert (caught.value.code, caught.value.disposition) == ("error_budget", Disposition.STOP)
    assert str(caught.value) == (
        "150.5 of 2000 records failed (7.5%) within 300 s of batch time, 5.0% are allowed; "
        "nothing of the last batch is acknowledged; "
        "'attr2hbase explain' shows why events fail; correct the pipeline, or raise error_budget: {share: …}"
    )


def test_error_names_the_most_frequent_failure(make_dead_letter):
    of_batch = [
        make_dead_letter(7, component="json", code="bad_json"),
        make_dead_letter(3),
        make_dead_letter(4),
    ]
    with pytest.raises(
        ErrorBudgetSpentError, match=r"batch time, most often with decorate in .split. \(first ticks/0/3\), 5"
    ):
        budget().check(0, 2000, 1900, [each.to_json() for each in of_batch])


def test_dead_letter_by_place_counts_its_records(make_dead_letter):
    record = make_dead_letter(7).record._replace(value=None)
    place = make_dead_letter(record=record, code="no_match", by_place=PlaceRange(10, was_read=True), events=3)
    with pytest.raises(ErrorBudgetSpentError, match=r"most often with no_match in .split. \(first ticks/0/7\)"):
        budget().check(0, 2000, 1900, [each.to_json() for each in (make_dead_letter(3), make_dead_letter(4), place)])


def test_max_failures_is_what_certainly_spends_the_budget():
    budget = ErrorBudget(share=0.05, min_events=100, window_s=300, max_records=1_000)
    assert budget.max_failures(1_000) == 100  # `min_events` is 100
    budget.check(1_000, 1_000, 10)
    assert budget.max_failures(2_000) == 90  # 5 % of 2,000, less the 10 of the batch before
    assert budget.max_failures(1_000) == 100  # an earlier attempt at the batch does not count
    assert ErrorBudget(share=0.05, min_events=100, window_s=300).max_failures(2_000) is None
    assert ErrorBudget(share=1, min_events=1, window_s=300, max_records=10).max_failures(1_000) is None
