"""Similarity, expansion, neighbours, baselines and their evaluation."""

import warnings

import numpy as np
import pytest
from gapfill.baselines import additive, date_mean, station_mean
from gapfill.evaluation import Score, clamped, held_out, score, scores
from gapfill.expansion import expanded
from gapfill.grid import Grid, Values
from gapfill.neighbours import Neighbours, weighted
from gapfill.report import Report
from gapfill.similarity import similarities, similarity

from tests.support.weather_example import low_rank

NAN = float("nan")


def matrix(*rows: list[float]) -> Values:
    return np.array(rows, dtype=float)


def test_w03_similarity_of_two_common_items() -> None:
    found = similarity(np.array([20.0, 24, 21, NAN]), np.array([18.0, 25, NAN, 3]))
    assert float(found) == pytest.approx(0.387426, abs=5e-7)


def test_w03_similarity_without_a_common_item_is_nan_and_of_identical_items_one() -> None:
    items = matrix([1, NAN, 3], [NAN, 2, NAN], [1, 7, 3])
    found = similarities(items)
    assert np.isnan(found[0, 1])
    assert np.isnan(found[1, 0])
    assert (found[0, 0], found[0, 2]) == (1.0, 1.0)
    np.testing.assert_array_equal(found, found.T)


def test_w04_estimate_of_two_neighbours_and_none_of_one() -> None:
    found = weighted(np.array([0.5, 0.25]), matrix([20, 20, NAN, NAN], [26, NAN, 26, NAN]))
    np.testing.assert_array_equal(found, [22.0, NAN, NAN, NAN])


def test_w04_cells_without_an_estimate_are_counted() -> None:
    # the first two stations resemble the third most; on the last day only one of them measured
    values = matrix([1, 5, 9, 4, NAN], [1, 5, 9, 4, 2], [1, 5, 9, 4, 3], [30, 30, 30, 30, 30])
    cells = np.zeros(values.shape, dtype=bool)
    cells[2, 3:] = True
    training = np.where(cells, NAN, values)
    found = score(Neighbours(previous=0)(training), values, cells)
    assert found == Score(mae=0.0, estimates=1, no_estimate=1)
    assert found.coverage == 0.5


def test_w05_changes_against_two_previous_days() -> None:
    np.testing.assert_array_equal(
        expanded(matrix([20, 24, 21]), previous=2),
        matrix([20, 24, 21, NAN, 4.0, -3.0, NAN, NAN, 0.5]),
    )


def test_w05_missing_earlier_day_gives_no_pair() -> None:
    np.testing.assert_array_equal(
        expanded(matrix([20, NAN, 21]), previous=2),
        matrix([20, NAN, 21, NAN, NAN, NAN, NAN, NAN, 0.5]),
    )


def test_w05_direction_of_changes() -> None:
    np.testing.assert_array_equal(
        expanded(matrix([20, 24, 21, NAN]), previous=2, direction=2.0)[:, 4:],
        matrix([NAN, 2, -2, NAN, NAN, NAN, 0, NAN]),
    )
    assert expanded(matrix([20, 22]), previous=1, direction=2.0)[0, 3] == 2.0


def test_more_previous_days_than_days() -> None:
    assert np.isnan(expanded(matrix([20, 24]), previous=3)[:, 4:]).all()


@pytest.mark.parametrize("method", [station_mean, date_mean, additive, Neighbours()])
def test_w06_cold_station_and_cold_date_have_no_estimate_by_any_baseline(method) -> None:
    values = matrix([1, 2, NAN, 4], [2, 3, NAN, 5], [NAN, NAN, NAN, NAN], [3, 3, NAN, 6])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        estimates = method(values)
    # a station's mean exists on every day, and a day's mean at every station
    if method is not station_mean:
        assert np.isnan(estimates[:, 2]).all()
    if method is not date_mean:
        assert np.isnan(estimates[2]).all()


def test_additive_baseline_finds_both_effects() -> None:
    effects = np.array([[0.0], [3], [-4]]) + np.array([[1.0, 5, 9, 2, 7, 3]])
    values = effects.copy()
    values[0, 1] = values[2, 4] = NAN
    np.testing.assert_allclose(additive(values, ridge=1e-9), effects, atol=1e-6)
    # a ridge pulls the effects towards zero
    assert np.abs(additive(values, ridge=1.0) - effects).max() > 0.1


def test_additive_baseline_of_nothing() -> None:
    assert np.isnan(additive(np.full((2, 3), NAN))).all()


def test_means() -> None:
    values = matrix([1, NAN], [3, 5])
    np.testing.assert_array_equal(station_mean(values), matrix([1, 1], [4, 4]))
    np.testing.assert_array_equal(date_mean(values), matrix([2, 5], [2, 5]))


def test_same_seed_holds_out_the_same_measurements() -> None:
    grid, _ = low_rank(1, stations=10, days=30)
    training, cells = held_out(grid.values, 0.05, seed=17)
    again, _ = held_out(grid.values, 0.05, seed=17)
    other, _ = held_out(grid.values, 0.05, seed=18)
    np.testing.assert_array_equal(training, again)
    assert not np.array_equal(training, other, equal_nan=True)
    measured = int((~np.isnan(grid.values)).sum())
    assert int(cells.sum()) == round(0.05 * measured)
    assert int((~np.isnan(training)).sum()) == measured - int(cells.sum())


def test_all_methods_are_scored_with_the_same_measurements() -> None:
    grid, _ = low_rank(1, stations=10, days=30)
    seen: list[Values] = []

    def method(values: Values) -> Values:
        seen.append(values)
        return np.zeros_like(values)

    found = scores({"one": method, "other": method}, grid.values, 0.1, seed=17)
    np.testing.assert_array_equal(*seen)
    assert found["one"] == found["other"]


def test_score_without_any_estimate() -> None:
    values = matrix([1.0])
    assert score(matrix([NAN]), values, np.array([[True]])) == Score(None, 0, 1)


def test_estimates_are_clamped_to_the_range_of_the_station() -> None:
    values = matrix([0, 2, NAN], [NAN, NAN, NAN])
    found = clamped(matrix([9, -9, 1], [50, NAN, 1]), values)
    np.testing.assert_array_equal(found, matrix([5, -3, 1], [50, NAN, 1]))


def test_grid_has_all_days_and_all_stations() -> None:
    grid = Grid.of({("B", "2024-02-28"): 1.0, ("A", "2024-03-01"): 2.0}, ["C"])
    assert grid.stations == ("A", "B", "C")
    assert grid.dates == ("2024-02-28", "2024-02-29", "2024-03-01")
    np.testing.assert_array_equal(grid.values, matrix([NAN, NAN, 2], [1, NAN, NAN], [NAN, NAN, NAN]))
    assert (grid.cold_stations, grid.cold_dates) == (("C",), ("2024-02-29",))


def report(**scores: Score) -> Report:
    return Report("temp", "the table", scores, 10, 2, {"missing_code": 1}, 0, {}, ["S1"], [])


def test_w13_report_has_mae_coverage_and_baselines() -> None:
    found = report(als=Score(0.5, 9, 1), additive=Score(1.25, 10, 0), none=Score(None, 0, 10))
    lines = str(found).splitlines()
    table = [line.split() for line in lines[lines.index("") + 1 :]]
    assert table == [
        ["method", "MAE", "coverage", "no_estimate"],
        ["als", "0.500", "90.0%", "1"],
        ["additive", "1.250", "100.0%", "0"],
        ["none", "-", "0.0%", "10"],
    ]
    assert "cold stations: S1; cold dates: none" in lines
    assert '"coverage": 0.9' in found.as_json()


def test_w13_score_without_a_baseline_is_no_report() -> None:
    with pytest.raises(ValueError, match="without a baseline"):
        report(als=Score(0.5, 9, 1))
