"""Line charts over time."""

from xml.etree import ElementTree as ET

from tests.support.plot import lines

SVG = "{http://www.w3.org/2000/svg}"


def test_chart_has_all_series_and_marks_and_axes_for_all_points():
    series = {"driver": [(0.0, 10.0), (1.0, 20.0), (3.0, 30.0), (4.0, 180.0)], "<jvm>": [(0.0, 50.0)]}
    root = ET.fromstring(lines("memory", series, x="minutes", y="MiB", marks=[(2.0, "driver")]))  # noqa: S314 - our own
    points = [line.attrib["points"].split() for line in root.iter(f"{SVG}polyline")]
    assert [len(line) for line in points] == [4, 1]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    assert {"memory", "minutes", "MiB", "driver", "<jvm>", "0", "200", "4"} <= set(texts)
    heights = [float(point.split(",")[1]) for point in points[0]]
    assert heights == sorted(heights, reverse=True)
    assert min(heights) > 0
