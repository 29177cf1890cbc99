"""The curve of closeness and similarity, pairs below it, and the map."""

import json
import re

import numpy as np
import pytest
from gapfill.atlas import drawn
from gapfill.cleaning import Place
from gapfill.errors import NotEnoughPairsError, TooManyStationsError
from gapfill.fit import MAX_PAIRS, Weights, fit, pairs
from gapfill.influencers import found_in, geojson, influencers, midpoint

from tests.support.weather_example import EXAMPLE, generated

STATIONS, DAYS = 30, 200
WALL = 48.0  # degrees of latitude
SIDE = 4.0  # degrees of the plane


def plane(seed: int, shift: float):
    """
    Stations at random places of a plane, and temperatures that differ the more, the farther apart they are.

    Args:
        seed: of all random numbers.
        shift: by which it is colder to the north of the wall, in degrees Celsius.
    """
    random = np.random.default_rng(seed)
    latitudes = WALL + random.uniform(-SIDE / 2, SIDE / 2, STATIONS)
    longitudes = 10 + random.uniform(-SIDE / 2, SIDE / 2, STATIONS)
    places = {f"S{n:02}": Place(latitudes[n], longitudes[n], 400.0) for n in range(STATIONS)}
    # each day the temperature rises in a direction of its own, in degrees Celsius a degree
    slopes = random.normal(0, 1.0, (DAYS, 2))
    values = np.outer(latitudes - WALL, slopes[:, 0]) + np.outer(longitudes - 10, slopes[:, 1])
    values += random.normal(10, 8, DAYS) + random.normal(0, 0.5, values.shape)
    values -= shift * (latitudes > WALL)[:, None]
    return places, values


def points_of(seed: int, shift: float):
    places, values = plane(seed, shift)
    found = pairs(list(places.values()), values, Weights())
    return influencers(places, found, fit(found.closeness, found.similarity), 2.0), len(found)


@pytest.mark.parametrize("seed", range(10))
def test_w10_points_are_at_the_wall(seed: int) -> None:
    points, _ = points_of(seed, shift=8.0)
    at_wall = [point for point in points if abs(point.latitude - WALL) <= 0.5]
    assert points
    assert len(at_wall) >= 0.9 * len(points)


@pytest.mark.parametrize("seed", range(10))
def test_w10_without_the_wall_few_pairs_are_flagged(seed: int) -> None:
    points, count = points_of(seed, shift=0.0)
    assert len(points) <= 0.05 * count


def test_w11_pairs_on_the_curve_give_its_parameters_and_no_outlier() -> None:
    closeness = np.linspace(0.05, 0.95, 40)
    found = fit(closeness, np.exp(-2.5 + 1.75 * closeness))
    assert (found.a, found.b) == (pytest.approx(-2.5, abs=1e-6), pytest.approx(1.75, abs=1e-6))
    assert len(found.outliers(2.0)) == 0


@pytest.mark.parametrize("closeness", [[], [0.5], [0.2, 0.5], [0.5, 0.5, 0.5]])
def test_w11_fewer_than_three_pairs_end_with_exit_code_3(closeness: list[float]) -> None:
    with pytest.raises(NotEnoughPairsError, match="at least 3") as caught:
        fit(np.array(closeness), np.full(len(closeness), 0.5))
    assert (caught.value.exit_code, caught.value.code) == (3, "not_enough_pairs")


def test_outliers_are_below_the_curve_only_and_the_farthest_is_first() -> None:
    closeness = np.linspace(0.1, 0.9, 50)
    logarithms = -2.0 + closeness
    logarithms[[10, 20, 30]] += (-0.5, -1.0, 1.0)
    assert fit(closeness, np.exp(logarithms)).outliers(2.0).tolist() == [20, 10]


def test_curve_ends_at_a_similarity_of_one() -> None:
    closeness = np.array([0.1, 0.2, 0.3, 1.0])
    found = fit(closeness, np.array([0.1, 0.3, 0.9, 0.95]))
    assert found.a + found.b > 0
    assert found.residuals[-1] == pytest.approx(np.log(0.95))


def test_closeness_counts_degrees_and_kilometres_of_altitude() -> None:
    here = Place(46.0, 179.5, 500)
    assert Weights(2, 1, 5).closeness(here, here) == 1.0
    assert Weights(2, 1, 5).closeness(here, Place(47.5, 179.5, 500)) == pytest.approx(1 / 4)
    assert Weights(2, 1, 5).closeness(here, Place(46.0, -179.5, 500)) == pytest.approx(1 / 2)
    assert Weights(2, 1, 5).closeness(here, Place(46.0, 179.5, 1_100)) == pytest.approx(1 / 4)


def test_pairs_without_a_common_day_are_counted() -> None:
    places = [Place(0, 0, 0), Place(1, 0, 0), Place(2, 0, 0)]
    nan = float("nan")
    found = pairs(places, np.array([[1, nan], [nan, 2], [3, 3]]), Weights())
    assert (found.first.tolist(), found.second.tolist(), found.not_comparable) == ([0, 1], [2, 2], 1)


def test_too_many_stations_end_with_exit_code_2() -> None:
    places = [Place(0, 0, 0)] * 4
    with pytest.raises(TooManyStationsError, match="--max-pairs 6") as caught:
        pairs(places, np.zeros((4, 2)), Weights(), max_pairs=5)
    assert caught.value.exit_code == 2
    assert len(pairs(places, np.zeros((4, 2)), Weights(), max_pairs=6)) == 6
    assert MAX_PAIRS == 3_000 * 2_999 / 2


def test_midpoint_across_the_180th_meridian() -> None:
    assert midpoint(Place(10, 179, 0), Place(20, -178, 100)) == Place(15, -179.5, 50)
    assert midpoint(Place(10, 4, 0), Place(20, 8, 100)) == Place(15, 6, 50)


def test_geojson_has_longitude_first_and_the_residual() -> None:
    points, _ = points_of(0, shift=8.0)
    collection = json.loads(json.dumps(geojson(points)))
    first = collection["features"][0]
    assert first["geometry"]["type"] == "Point"
    assert first["geometry"]["coordinates"] == [round(points[0].longitude, 5), round(points[0].latitude, 5), 400.0]
    assert first["properties"]["residual"] == pytest.approx(points[0].residual, abs=1e-4)
    assert len(collection["features"]) == len(points)


def test_picture_is_drawn_from_the_generated_measurements() -> None:
    found = found_in(generated(), Weights(), MAX_PAIRS)
    assert drawn(found.places, found.points) == (EXAMPLE / "influencers.svg").read_text("utf-8")


def test_most_points_of_the_example_are_at_its_ridge() -> None:
    from generate import ridge

    found = found_in(generated(), Weights(), MAX_PAIRS)
    across = [
        point
        for point in found.points
        if len({found.places[name].latitude > ridge(found.places[name].longitude) for name in point.stations}) == 2
    ]
    near = [point for point in found.points if abs(point.latitude - ridge(point.longitude)) <= 0.5]
    readme = (EXAMPLE / "README.md").read_text("utf-8")
    shown = re.search(r"(\d+) of the (\d+) pairs lie across the ridge, and (\d+) midpoints are within 0.5°", readme)
    assert shown is not None
    assert tuple(map(int, shown.groups())) == (len(across), len(found.points), len(near))
