"""The check of `make check` for the layout of the tests."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tests.support.service import ROOT

SPEC = spec_from_file_location("tree", ROOT / "deploy" / "checks" / "tree.py")
IMPORT = "from tests.{}.test_a import b"


@pytest.fixture
def findings(tmp_path, monkeypatch):
    """Findings of a test file, in a project with the package `sinks.hbase`."""
    tree = module_from_spec(SPEC)
    SPEC.loader.exec_module(tree)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    (tmp_path / "sinks" / "hbase").mkdir(parents=True)
    (tmp_path / "sinks" / "hbase" / "__init__.py").touch()

    def run(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [finding.removeprefix(f"{name}:") for finding in tree.layout(name)]

    return run


@pytest.mark.parametrize(
    ("name", "found"),
    [("sinks/hbase/test_a.py", 0), ("sinks/moved/test_a.py", 1), ("support/test_a.py", 0), ("sinks/hbase/a/b.py", 1)],
)
def test_unit_tests_mirror_the_packages(findings, name, found):
    assert len(findings(f"tests/unit/{name}")) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (IMPORT.format("unit.sinks"), ["1"]),
        (f'CODE = """\n{IMPORT.format("fault")}\n"""\n', ["2"]),
        (f'CODE = (\n    "{IMPORT.format("conformance")}"\n)\n', ["2"]),
        (IMPORT.format("support"), []),
    ],
    ids=["module", "text of many lines", "text of one line", "support"],
)
def test_import_of_another_test_is_found(findings, text, found):
    assert [finding.partition(":")[0] for finding in findings("tests/fault/test_b.py", text)] == found
