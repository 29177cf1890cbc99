"""The checks of `make check` for links, the length of files, and the layout of the tests."""

from importlib.util import module_from_spec, spec_from_file_location

import pytest

from tests.support.service import ROOT

SPEC = spec_from_file_location("tree", ROOT / "deploy" / "checks" / "tree.py")
IMPORT = "from tests.{}.test_a import b"


@pytest.fixture
def findings(tmp_path, monkeypatch):
    """Findings of one check in a file, in a project with the package `sinks.hbase`."""
    tree = module_from_spec(SPEC)
    SPEC.loader.exec_module(tree)
    monkeypatch.setattr(tree, "ROOT", tmp_path)
    (tmp_path / "sinks" / "hbase").mkdir(parents=True)
    (tmp_path / "sinks" / "hbase" / "__init__.py").touch()

    def run(name, text="", check="layout"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return [finding.removeprefix(f"{name}:") for finding in getattr(tree, check)(name)]

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


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[a](other.md) and ![b](images/b.svg)", []),
        ("line\n[a](gone.md)", ['2: no file "gone.md"']),
        ("[a](other.md#a-heading) [b](other.md#a-heading-1) [c](#own)\n# Own\n", []),
        ("[a](other.md#no-heading)", ['1: no heading "#no-heading" in docs/other.md']),
        ("```\n# In code\n```\n[a](#in-code)", ['4: no heading "#in-code" in docs/page.md']),
        ("[a](../../outside.md)", ['1: "../../outside.md" is outside the project']),
        ("`[a](gone.md)`\n```\n[a](gone.md)\n```\n[b](https://example.org/gone.md)", []),
    ],
)
def test_broken_links_are_found(findings, tmp_path, text, found):
    (tmp_path / "docs" / "images").mkdir(parents=True)
    (tmp_path / "docs" / "images" / "b.svg").touch()
    (tmp_path / "docs" / "other.md").write_text("# A heading\n# `A` heading\n")
    (tmp_path.parent / "outside.md").touch()
    assert [finding.strip() for finding in findings("docs/page.md", text, "broken_links")] == found
