"""Charts have what they are given."""

from xml.etree import ElementTree as ET

from tests.support.plot import Bar, bars, lines

SVG = "{http://www.w3.org/2000/svg}"


def texts(drawn: str) -> list[str]:
    return [text.text for text in ET.fromstring(drawn).iter(f"{SVG}text")]  # noqa: S314 - our own


def test_chart_of_lines_has_all_series_and_marks():
    series = {"driver": [(0.0, 10.0), (1.0, 20.0), (3.0, 30.0), (4.0, 180.0)], "<jvm>": [(0.0, 50.0)]}
    drawn = lines("memory", series, x="minutes", y="MiB", marks=[(2.0, "a kill")])
    assert {"memory", "minutes", "MiB", "a kill", "driver", "<jvm>"} <= set(texts(drawn))
    assert drawn == lines("memory", series, x="minutes", y="MiB", marks=[(2.0, "a kill")])


def test_bars_that_lose_events_are_last_hatched_and_labelled():
    peers = [Bar("memory & co", 9.0, 8.0, 10.0, loss="loses events"), Bar("file", 5.0, 4.0, 6.0)]
    drawn = bars("rates", [*peers, Bar("ours", 7_000.0, 6.0, 8_000.0, is_ours=True)], unit="events a second")
    shown = texts(drawn)
    assert [name for name in shown if name in ("memory & co", "file", "ours")] == ["file", "ours", "memory & co"]
    assert {"rates", "events a second", " 7,000", " 9 (loses events)"} <= set(shown)
    assert drawn.count("<pattern") == 1
    assert "<pattern" not in bars("rates", peers[1:], unit="x")
