"""The pages of the site come from the list of documents, which has each of them once."""

import pytest

from deploy.site.pages import LISTED, Entry, Section, files, index_for_models, navigation, sections
from tests.support.marked_tables import ROOT

TEXT = """# Documents

## Operate

You run the service.

- [Backup](operations/backup.md): back up the state
- [Reference](reference/README.md): all options
"""
OPERATE = Section(
    "Operate",
    "You run the service.",
    (
        Entry("Backup", "docs/operations/backup.md", "back up the state"),
        Entry("Reference", "docs/reference/README.md", "all options"),
    ),
)


@pytest.fixture
def tree(tmp_path):
    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".md").write_text(text)
        return tmp_path

    return write


def test_every_document_of_the_product_is_in_the_list():
    listed = sections((ROOT / LISTED).read_text("utf-8"))
    shown = navigation(listed, files(ROOT))
    assert [next(iter(tab)) for tab in shown] == ["Home", *(section.title for section in listed), "Project"]
    paths = [entry.path for section in listed for entry in section.entries]
    assert sorted(set(paths)) == sorted(paths)


def test_list_is_read():
    assert sections(TEXT) == [OPERATE]


@pytest.mark.parametrize("text", [TEXT.replace("You run the service.\n", ""), TEXT.replace(": back up the state", "")])
def test_heading_without_a_reader_and_a_line_without_a_text_are_refused(text):
    with pytest.raises(ValueError, match='below "## Operate" stand'):
        sections(text)


def test_site_has_what_its_documents_link_to(tree):
    root = tree(README="[a](docs/a.md#top)", docs__a="[b](../b.md) `[c](c.md)` [d](https://d.example) [e](#e)", b="")
    assert files(root) == ["README.md", "b.md", "docs/a.md"]


@pytest.mark.parametrize("target", ["docs", "docs/", "docs/none.md"])
def test_link_to_a_folder_is_refused(tree, target):
    root = tree(README=f"[a]({target})", docs__a="")
    with pytest.raises(ValueError, match=r"README\.md: a page of the site cannot link"):
        files(root)


def test_pages_of_a_folder_are_below_its_first_page():
    names = ["LICENSE", "README.md", "SECURITY.md", *(entry.path for entry in OPERATE.entries), "docs/reference/a/b.md"]
    assert navigation([OPERATE], names) == [
        {"Home": ["README.md", LISTED]},
        {
            "Operate": [
                {"Backup": "docs/operations/backup.md"},
                {"Reference": ["docs/reference/README.md", "docs/reference/a/b.md"]},
            ]
        },
        {"Project": ["SECURITY.md"]},
    ]


def test_document_that_is_not_in_the_list_is_named():
    with pytest.raises(ValueError, match=r"^docs/README\.md: no line for docs/new\.md$"):
        navigation([OPERATE], ["docs/new.md", "docs/bench/changes.md"])


def test_list_for_models_links_to_the_texts():
    assert index_for_models([OPERATE], "Events into HBase", "markdown/") == (
        "# attr2hbase\n\n> Events into HBase\n\n## Operate\n\nYou run the service.\n\n"
        "- [Backup](markdown/docs/operations/backup.md): back up the state\n"
        "- [Reference](markdown/docs/reference/README.md): all options\n"
    )
