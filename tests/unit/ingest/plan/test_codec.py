"""A plan in another process: with the files it needs, and a clear word where a plugin is missing."""

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
def parcel(tmp_path):
    """Packs the pipeline of a file."""

    def pack(step: str, plugins: str = "") -> bytes:
        path = tmp_path / "p.yaml"
        path.write_text(pipeline(step, plugins))
        found = load(path, env={}, lookup=Catalog())
        return packed(plan_of(found, found.pipelines["p"], Catalog(found.plugins)))

    return pack


def in_another_process(parcel: bytes, folder: Path, *paths: Path) -> str:
    """What a worker says of a parcel; it starts in a folder and finds modules there and in these."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (ROOT, *paths)))}
    done = subprocess.run(
        [sys.executable, "-c", WORKER], input=parcel, env=environment, cwd=folder, capture_output=True, check=True
    )
    return done.stdout.decode().strip()


@pytest.fixture
def elsewhere(tmp_path):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    return folder


@pytest.fixture
def packages(tmp_path, monkeypatch):
    """A folder of installed packages, for this process alone."""
    folder = tmp_path / "packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    return folder


def test_file_beside_the_pipeline_travels_with_the_plan(parcel, tmp_path, elsewhere):
    (tmp_path / "parcel_a.py").write_text(shout("loud"))
    content = parcel("loud: {mark: '?'}", "plugins: [parcel_a]")
    (tmp_path / "parcel_a.py").unlink()
    assert in_another_process(content, elsewhere) == "HEY?"


def test_file_that_needs_what_is_not_there(parcel, tmp_path, elsewhere, packages):
    (packages / "parcel_library.py").write_text("")
    (tmp_path / "parcel_b.py").write_text("import parcel_library\n" + shout("loud"))
    said = in_another_process(parcel("loud", "plugins: [parcel_b]"), elsewhere)
    assert said.startswith('plugin_missing: plugin "parcel_b.py", and worker ')
    assert '"parcel_b" needs the module "parcel_library"; install it, with all it needs, for ' in said


def test_installed_plugin_that_is_there(parcel, elsewhere, packages):
    (packages / "parcel_c.py").write_text(shout("loud"))
    install(packages, "louder", "loud = parcel_c:Shout")
    assert in_another_process(parcel("loud"), elsewhere, packages) == "HEY!"


def test_installed_plugin_that_is_missing_is_named_with_the_way_out(parcel, elsewhere, packages):
    (packages / "parcel_d.py").write_text(shout("loud"))
    install(packages, "louder", "loud = parcel_d:Shout")
    said = in_another_process(parcel("loud: {label: mine}"), elsewhere)
    assert said.startswith('plugin_missing: "mine" is of louder 1.0 (parcel_d:Shout), and worker ')
    assert 'cannot import it: there is no module "parcel_d"; install it, with all it needs, for ' in said


def test_other_version_is_named(parcel, elsewhere, packages, tmp_path):
    (packages / "parcel_e.py").write_text(shout("loud"))
    install(packages, "louder", "loud = parcel_e:Shout")
    content = parcel("loud")
    others = tmp_path / "others"
    others.mkdir()
    (others / "parcel_e.py").write_text(shout("loud"))
    install(others, "louder", "loud = parcel_e:Shout", version="2.0")
    said = in_another_process(content, elsewhere, others)
    assert said.startswith('plugin_differs: "loud" is of louder 1.0 (parcel_e:Shout), and worker ')
    assert " has louder 2.0; install louder==1.0 for " in said


def test_modules_without_their_package_will_do(parcel, elsewhere, packages, tmp_path):
    """As `spark-submit --py-files` brings them."""
    (packages / "parcel_f.py").write_text(shout("loud"))
    install(packages, "louder", "loud = parcel_f:Shout")
    content = parcel("loud")
    (elsewhere / "parcel_f.py").write_text(shout("loud"))
    assert in_another_process(content, tmp_path, elsewhere) == "HEY!"
