"""Rejected readings, duplicates, and stations at one place."""

from collections import Counter

import pytest
from gapfill.cleaning import Place, Reading, cleaned, key_of, number, same_places
from gapfill.dataset import Dataset
from gapfill.errors import NoMeasurementsError, TooManyRejectedError

GOOD = [Reading(f"S1|2025-01-{day:02}", 1, "1.5") for day in range(1, 11)]


def test_w08_missing_codes_nan_and_text_are_rejected_with_counts() -> None:
    texts = ["9999.9", "-9999", "-9999.0", "9999.90", "NaN", "inf", "1e999", "n/a", "", "1_0", " 2"]
    bad = [Reading(f"S2|2025-01-{day:02}", 1, text) for day, text in enumerate(texts, start=1)]
    found = cleaned([*GOOD, *GOOD, *bad])
    assert found.rejected == Counter(missing_code=4, not_finite=3, not_a_number=4)
    assert set(found.values.values()) == {1.5}
    assert found.stations == {"S1", "S2"}


def test_w08_more_than_half_rejected_ends_with_exit_code_5() -> None:
    half = [Reading(f"S2|2025-01-{day:02}", 1, "9999.9") for day in range(1, 11)]
    assert cleaned([*GOOD, *half]).rejected.total() == 10
    with pytest.raises(TooManyRejectedError, match="11 of 21 readings are rejected") as caught:
        cleaned([*GOOD, *half, Reading("S2|2025-01-11", 1, "NaN")])
    assert caught.value.exit_code == 5


def test_w09_last_duplicate_by_event_time_wins_and_is_counted() -> None:
    found = cleaned(
        [
            Reading("S1|2025-01-01", 20, "2"),
            Reading("S1|2025-01-01", 30, "3"),
            Reading("S1|2025-01-01", 10, "1"),
            Reading("S1|2025-01-02", 10, "7"),
        ]
    )
    assert found.values == {("S1", "2025-01-01"): 3.0, ("S1", "2025-01-02"): 7.0}
    assert found.duplicates == 2


def test_w09_rejected_duplicate_replaces_no_measurement() -> None:
    found = cleaned([Reading("S1|2025-01-01", 10, "1"), Reading("S1|2025-01-01", 20, "9999.9")])
    assert found.values == {("S1", "2025-01-01"): 1.0}
    assert (found.duplicates, found.rejected) == (0, Counter(missing_code=1))


def test_w09_of_two_stations_at_one_place_the_one_with_more_data_stays() -> None:
    places = {
        "A": Place(46.0, 7.0, 500),
        "B": Place(46.01, 6.99, 510),
        "C": Place(46.021, 7.0, 500),
        "D": Place(46.0, 7.0, 521),
        "E": Place(0.0, 180.0, 0),
        "F": Place(0.0, -179.995, 0),
    }
    assert same_places(places, {"A": 5, "B": 9, "C": 1, "D": 1, "E": 2, "F": 2}) == {"A": "B", "F": "E"}


def test_left_out_station_is_neither_in_the_grid_nor_cold() -> None:
    places = {"S1": Place(46.0, 7.0, 500), "S2": Place(46.0, 7.0, 500), "S3": Place(1.0, 1.0, 1)}
    data = Dataset.of([*GOOD, Reading("S2|2025-01-01", 99, "2")], places)
    assert (data.grid.stations, data.same_place) == (("S1", "S3"), {"S2": "S1"})
    assert (data.grid.cold_stations, data.newest_ms) == (("S3",), 99)


def test_table_without_measurements() -> None:
    with pytest.raises(NoMeasurementsError):
        Dataset.of([], {})


@pytest.mark.parametrize("row", ["", "|", "S1", "S1|", "|2025-01-01", "S1|2025-02-29", "S1|20250101", "S1|2025-1-1"])
def test_row_key_without_station_and_date_is_rejected(row: str) -> None:
    assert key_of(row) is None
    assert cleaned([*GOOD, Reading(row, 1, "1")]).rejected == Counter(bad_row_key=1)


def test_station_may_contain_a_bar() -> None:
    assert key_of("a|b|2025-01-01") == ("a|b", "2025-01-01")


@pytest.mark.parametrize(("text", "value"), [("-1.5", -1.5), ("+.5", 0.5), ("3.", 3.0), ("1e2", 100.0), ("٣", None)])
def test_numbers(text: str, value: float | None) -> None:
    assert number(text) == value
