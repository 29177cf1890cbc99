"""The hooks by which MkDocs builds the site: it reads a copy of the documents in their places in the repository."""

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))  # MkDocs loads this file alone

from deploy.site.pages import LISTED, files, index_for_models, navigation, sections  # noqa: E402

_TEXTS = "markdown/"
_copy = Path(tempfile.mkdtemp(prefix="attr2hbase-site-"))


def on_config(config: Any) -> Any:
    """Copy the documents, so that their links to files outside of docs work; and set the navigation."""
    names = files(ROOT)
    for name in names:
        target = _copy / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, target)
    config["docs_dir"] = str(_copy)
    config["nav"] = navigation(_listed(), names)
    return config


def on_post_build(config: Any) -> None:
    """Write llms.txt, and the texts to which it links."""
    site = Path(config["site_dir"])
    (site / "llms.txt").write_text(index_for_models(_listed(), config["site_description"], _TEXTS), "utf-8")
    for path in _copy.rglob("*.md"):
        target = site / _TEXTS / path.relative_to(_copy)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)


def on_shutdown() -> None:
    """Remove the copy."""
    shutil.rmtree(_copy, ignore_errors=True)


def _listed() -> Any:
    return sections((ROOT / LISTED).read_text("utf-8"))
