"""A plan in a worker process: plugin files it carries, and errors for missing plugins."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from ingest.catalog import Catalog
from ingest.config import load
from ingest.plan.assemble import plan_of
from ingest.plan.codec import packed
from tests.support.plugins import install, pipeline, shout

ROOT = Path(__file__).resolve().parents[4]
WORKER = """\
import sys
from ingest.api import CatalogError, Record
from ingest.plan.assemble import live_chain
from ingest.plan.codec import unpacked
from ingest.testing.events import event_of
try:
    (outcome,) = live_chain(unpacked(sys.stdin.buffer.read())).run(event_of("hey"))
    print(outcome.body.decode())
except CatalogError as error:
    print(f"{error.code}: {error}")
"""


@pytest.fixture
def packed_plan(tmp_path):
    """A function that packs a pipeline with one decorator."""

    def pack(decorator: str, plugins: str = "") -> bytes:
        path = tmp_path / "p.yaml"
        path.write_text(pipeline(decorator, plugins))
        found = load(path, env={}, lookup=Catalog())
        return packed(plan_of(found, found.pipelines["p"], Catalog(found.plugins)))

    return pack


def run_worker(content: bytes, folder: Path, *paths: Path) -> str:
    """The output of a worker that unpacks a plan; it starts in `folder`, with `paths` on its module path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths)))}
    done = subprocess.run(
        [sys.executable, "-c", WORKER], input=content, env=environment, cwd=folder, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def worker_folder(tmp_path):
    folder = tmp_path / "worker"
    folder.mkdir()
    return folder


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of installed packages that only this process sees."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_plan_contains_plugin_files(packed_plan, tmp_path, worker_folder):
    (tmp_path / "plugin_a.py").write_text(shout("loud"))
    content = packed_plan("loud: {mark: '?'}", "plugins: [plugin_a]")
    (tmp_path / "plugin_a.py").unlink()
    assert run_worker(content, worker_folder) == "HEY?"


def test_plugin_file_with_a_missing_dependency_is_reported(packed_plan, tmp_path, worker_folder, packages):
    (packages / "plugin_library.py").write_text("")
    (tmp_path / "plugin_b.py").write_text("import plugin_library\n" + shout("loud"))
    output = run_worker(packed_plan("loud", "plugins: [plugin_b]"), worker_folder)
    assert output.startswith('plugin_missing: plugin "plugin_b.py", but worker ')
    assert '"plugin_b" needs the module "plugin_library"; install it, with its dependencies, for ' in output


def test_plugin_installed_on_the_worker_is_used(packed_plan, worker_folder, packages):
    (packages / "plugin_c.py").write_text(shout("loud"))
    install(packages, "louder", "loud = plugin_c:Shout")
    assert run_worker(packed_plan("loud"), worker_folder, packages) == "HEY!"


def test_plugin_missing_on_the_worker_is_reported(packed_plan, worker_folder, packages):
    (packages / "plugin_d.py").write_text(shout("loud"))
    install(packages, "louder", "loud = plugin_d:Shout")
    output = run_worker(packed_plan("loud: {label: mine}"), worker_folder)
    assert output.startswith('plugin_missing: "mine" is from louder 1.0 (plugin_d:Shout), but worker ')
    assert 'cannot import it: there is no module "plugin_d"; install it, with its dependencies, for ' in output


def test_plugin_of_another_version_is_reported(packed_plan, worker_folder, packages, tmp_path):
    (packages / "plugin_e.py").write_text(shout("loud"))
    install(packages, "louder", "loud = plugin_e:Shout")
    content = packed_plan("loud")
    others = tmp_path / "others"
    others.mkdir()
    (others / "plugin_e.py").write_text(shout("loud"))
    install(others, "louder", "loud = plugin_e:Shout", version="2.0")
    output = run_worker(content, worker_folder, others)
    assert output.startswith('plugin_differs: "loud" is from louder 1.0 (plugin_e:Shout), but worker ')
    assert " has louder 2.0; install louder==1.0 for " in output


def test_modules_without_package_metadata_are_accepted(packed_plan, worker_folder, packages, tmp_path):
    """As with `spark-submit --py-files`."""
    (packages / "plugin_f.py").write_text(shout("loud"))
    install(packages, "louder", "loud = plugin_f:Shout")
    content = packed_plan("loud")
    (worker_folder / "plugin_f.py").write_text(shout("loud"))
    assert run_worker(content, tmp_path, worker_folder) == "HEY!"
