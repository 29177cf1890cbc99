"""Results of tests in the XML that build servers read."""

import re
from collections.abc import Sequence
from xml.etree import ElementTree as ET

_NOT_XML = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit_of(suite: str, results: Sequence[tuple[str, str, Sequence[str]]]) -> bytes:
    """
    A suite as JUnit XML.

    Args:
        suite: its name.
        results: name of the test, its pipeline, and its differences, none if it passed.
    """
    failed = sum(bool(lines) for _, _, lines in results)
    numbers = {"tests": str(len(results)), "failures": str(failed), "errors": "0", "skipped": "0"}
    root = ET.Element("testsuites", numbers)
    parent = ET.SubElement(root, "testsuite", {"name": _clean(suite)} | numbers)
    for name, pipeline, lines in results:
        case = ET.SubElement(parent, "testcase", {"name": _clean(name), "classname": _clean(pipeline)})
        if lines:
            failure = ET.SubElement(case, "failure", {"message": _clean(lines[0])})
            failure.text = _clean("\n".join(lines))
    ET.indent(root)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True)) + b"\n"


def _clean(text: str) -> str:
    """The text without control characters that XML 1.0 forbids even as references."""
    return _NOT_XML.sub("\ufffd", text)
