"""The catalog: names to classes, lazily, with the way out when something is missing."""

import subprocess
import sys

import pytest

from ingest.api import CatalogError, Decorator, Model, Store
from ingest.catalog import ROOMS, Catalog
from ingest.sources.kafka import KafkaSource

PLUGIN = """\
from ingest.api import Decorator, Settings, Store, StoreSettings, option

class ShoutSettings(Settings):
    mark: str = option("What is added.", default="!")

class Shout(Decorator[ShoutSettings]):
    kind = "KIND"
    def decorate(self, event):
        event.body = event.body.upper() + self.settings.mark.encode()
        return True

class _Hidden(Decorator[ShoutSettings]):
    def decorate(self, event):
        return True
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        return name

    monkeypatch.syspath_prepend(tmp_path)
    return write


@pytest.mark.parametrize("room", ROOMS)
def test_every_built_in_has_options_and_a_class(room):
    catalog = Catalog()
    assert catalog.names(room) == tuple(sorted(catalog.names(room)))
    for name in catalog.names(room):
        settings = catalog(room, name)
        assert settings is not None
        assert issubclass(settings, Model)
        assert ":" in catalog.path(room, name)


def test_decorator_is_loaded_under_its_own_name():
    catalog = Catalog()
    for name in catalog.names("decorators"):
        assert catalog.load("decorators", name).kind == name


def test_source_is_its_own_options():
    assert Catalog().load("sources", "kafka") is Catalog()("sources", "kafka") is KafkaSource


def test_unknown_name_is_none_to_the_binder_and_an_error_to_others():
    catalog = Catalog()
    assert catalog("decorators", "spilt") is None
    with pytest.raises(CatalogError) as caught:
        catalog.load("decorators", "spilt")
    assert str(caught.value) == 'there is no decorator "spilt"; did you mean "split"?'
    assert caught.value.exit_code == 2


def test_nothing_heavy_is_loaded():
    script = (
        "import sys; from ingest.catalog import Catalog, ROOMS; c = Catalog()\n"
        "for room in ROOMS:\n    for name in c.names(room): c(room, name)\n"
        "heavy = {'pyspark', 'pyarrow', 'kafka', 'happybase', 'thriftpy2', 'rocksdict', 'pandas'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


class TestPlugins:
    def test_classes_with_a_kind_are_found(self, plugin):
        catalog = Catalog().with_plugins([plugin("shouting_a", PLUGIN.replace("KIND", "shout"))])
        assert "shout" in catalog.names("decorators")
        assert issubclass(catalog.load("decorators", "shout"), Decorator)
        assert catalog.path("decorators", "shout") == "shouting_a:Shout"
        assert "mark" in catalog("decorators", "shout").model_fields

    def test_listed_classes_alone_count(self, plugin):
        text = PLUGIN.replace("KIND", "shout") + "DECORATORS = [Shout]\nclass Other(Shout):\n    kind = 'other'\n"
        catalog = Catalog([plugin("shouting_b", text)])
        assert {"shout", "other"} & set(catalog.names("decorators")) == {"shout"}

    def test_store_is_found(self, plugin):
        text = "from sinks.memory import MemoryStore\nclass Mine(MemoryStore):\n    kind = 'mine'\nSTORES = [Mine]\n"
        catalog = Catalog([plugin("storing", text)])
        assert issubclass(catalog.load("stores", "mine"), Store)
        assert catalog("stores", "mine").__name__ == "MemorySettings"

    def test_built_in_name_can_not_be_taken(self, plugin):
        with pytest.raises(CatalogError, match='the decorator "split" exists already'):
            Catalog([plugin("shouting_c", PLUGIN.replace("KIND", "split"))])

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("broken_a", "import no_such_package_at_all", 'needs the module "no_such_package_at_all"'),
            ("broken_b", "def", "can not be imported"),
            ("broken_c", "DECORATORS = ['x']", "is no component"),
            ("broken_d", "from ingest.api import nothing_here", "can not be imported"),
        ],
    )
    def test_module_that_is_broken(self, plugin, name, text, message):
        with pytest.raises(CatalogError, match=message):
            Catalog([plugin(name, text)])

    def test_module_that_is_not_there(self):
        with pytest.raises(CatalogError) as caught:
            Catalog(["no_such_module.inside"])
        assert caught.value.hint == "install the package it is in"


def test_installed_package_adds_components(tmp_path, monkeypatch):
    (tmp_path / "packaged.py").write_text(PLUGIN.replace("KIND", "packaged"))
    info = tmp_path / "packaged-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: packaged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[ingest.decorators]\npackaged = packaged:Shout\n")
    monkeypatch.syspath_prepend(tmp_path)
    catalog = Catalog()
    assert "packaged" in catalog.names("decorators")
    assert catalog("decorators", "packaged").__name__ == "ShoutSettings"
