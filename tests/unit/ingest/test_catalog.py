"""The catalog: lazy lookup of classes by name, and the hints of its errors."""

import subprocess
import sys

import pytest

from ingest.api import CatalogError, Decorator, Model, Processor, Sink, Source, Store
from ingest.catalog import COMPONENT_TYPES, Catalog, Entry
from ingest.plugins.loader import Plugin
from ingest.sources.kafka import KafkaSourceSettings
from sinks import BUILTIN_PROCESSORS
from sinks.mapping.mapper import Mapper
from tests.support.plugins import install, shout
from tests.support.sinks import INDEXED, LINES
from tests.support.sources import TICKING

SINK = """\
from sinks.mapping.attr2hbase import Attr2HBase

class Mine(Attr2HBase):
    "Write attributes, as attr2hbase does."

    kind = "mine"
"""
LONGEST = """\
from ingest.api import Model, Processor, ProcessorExample

class Longest(Processor[Model]):
    "Keep the longest value."

    kind = "longest"
    merge_examples = (ProcessorExample("two", values=("a", "bb"), merged="bb"),)

    def update(self, value):
        return value

    def merge(self, updates):
        return max(updates, key=len)
"""


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    def write(name, text):
        (tmp_path / f"{name}.py").write_text(text)
        return Plugin(name)

    monkeypatch.syspath_prepend(tmp_path)
    return write


@pytest.mark.parametrize("component_type", COMPONENT_TYPES)
def test_every_built_in_component_has_options_and_a_class(component_type):
    catalog = Catalog()
    assert catalog.names(component_type) == tuple(sorted(catalog.names(component_type)))
    for name in catalog.names(component_type):
        settings = catalog(component_type, name)
        assert settings is not None
        assert issubclass(settings, Model)
        assert ":" in catalog.entry(component_type, name).path


def test_decorator_is_loaded_under_its_own_name():
    catalog = Catalog()
    for name in catalog.names("decorators"):
        assert catalog.load("decorators", name).kind == name


def test_source_is_found_with_its_options():
    assert issubclass(Catalog().load("sources", "kafka"), Source)
    assert Catalog()("sources", "kafka") is KafkaSourceSettings


def test_options_of_an_unknown_name_are_none_and_its_class_is_an_error():
    catalog = Catalog()
    assert catalog("decorators", "spilt") is None
    with pytest.raises(CatalogError) as caught:
        catalog.load("decorators", "spilt")
    assert str(caught.value) == 'there is no decorator "spilt"; did you mean "split"?'
    assert caught.value.exit_code == 2


def test_options_of_built_in_components_import_no_client_libraries():
    script = (
        "import sys; from ingest.catalog import Catalog, COMPONENT_TYPES; c = Catalog()\n"
        "for component_type in COMPONENT_TYPES:\n    for name in c.names(component_type): c(component_type, name)\n"
        "heavy = {'pyspark', 'pyarrow', 'kafka', 'happybase', 'thriftpy2', 'rocksdict', 'pandas'}\n"
        "print(sorted(heavy & sys.modules.keys()))"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


class TestPlugins:
    def test_classes_with_a_kind_are_found(self, plugin):
        hidden = "\nclass _Hidden(Decorator[ShoutSettings]):\n    def decorate(self, event):\n        return True\n"
        catalog = Catalog().with_plugins([plugin("shouting_a", shout("shout") + hidden)])
        assert "shout" in catalog.names("decorators")
        assert issubclass(catalog.load("decorators", "shout"), Decorator)
        assert catalog.entry("decorators", "shout") == Entry("shouting_a:Shout", '"shouting_a"')
        assert "mark" in catalog("decorators", "shout").model_fields

    def test_only_listed_classes_are_components(self, plugin):
        text = shout("shout") + "DECORATORS = [Shout]\nclass Other(Shout):\n    kind = 'other'\n"
        catalog = Catalog([plugin("shouting_b", text)])
        assert {"shout", "other"} & set(catalog.names("decorators")) == {"shout"}

    def test_store_is_found(self, plugin):
        text = "from sinks.memory import MemoryStore\nclass Mine(MemoryStore):\n    kind = 'mine'\nSTORES = [Mine]\n"
        catalog = Catalog([plugin("storing", text)])
        assert issubclass(catalog.load("stores", "mine"), Store)
        assert catalog("stores", "mine").__name__ == "MemorySettings"

    def test_source_is_found_by_its_class_unless_sources_are_listed(self, plugin):
        catalog = Catalog([plugin("ticking_a", TICKING)])
        assert issubclass(catalog.load("sources", "ticking"), Source)
        assert "per_second" in catalog("sources", "ticking").model_fields
        assert Catalog([plugin("ticking_b", TICKING + "SOURCES = []\n")]).names("sources") == ("files", "kafka")

    def test_processor_is_found_by_its_class_and_by_its_list(self, plugin):
        catalog = Catalog([plugin("longest_a", LONGEST)])
        assert issubclass(catalog.load("processors", "longest"), Processor)
        assert catalog("processors", "longest") is Model
        assert Catalog([plugin("longest_b", LONGEST + "PROCESSORS = []\n")]).names("processors") == tuple(
            sorted(BUILTIN_PROCESSORS)
        )

    def test_processor_without_examples_is_refused(self, plugin):
        catalog = Catalog([plugin("longest_c", LONGEST.replace("merge_examples", "others"))])
        with pytest.raises(CatalogError, match='"Longest" has no merge_examples; add some'):
            catalog.load("processors", "longest")

    def test_sink_is_found_by_its_class_and_by_its_list(self, plugin):
        catalog = Catalog([plugin("sinking_a", SINK)])
        assert issubclass(catalog.load("sinks", "mine"), Mapper)
        assert "table" in catalog("sinks", "mine").model_fields
        listed = Catalog([plugin("sinking_b", SINK + "SINKS = [Mine]\n")])
        assert listed.entry("sinks", "mine") == Entry("sinking_b:Mine", '"sinking_b"')

    def test_sink_without_a_store_is_found(self, plugin):
        catalog = Catalog([plugin("lining_a", LINES)])
        assert issubclass(catalog.load("sinks", "lines"), Sink)
        assert not {"store", "table"} & catalog("sinks", "lines").model_fields.keys()

    def test_error_for_a_sink_without_settings_has_a_hint(self, plugin):
        catalog = Catalog([plugin("lining_b", LINES.replace("Sink[LinesSettings]", "Sink"))])
        with pytest.raises(CatalogError, match='"Lines" has no settings') as caught:
            catalog.load("sinks", "lines")
        assert caught.value.hint == (
            "write Sink[YourSettings] with a subclass of SinkSettings, or Sink[SinkSettings] for no options"
        )

    @pytest.mark.parametrize("settings", ["MapperSettings", "LinesSettings"])
    def test_sink_without_a_store_has_no_options_of_a_mapper(self, plugin, settings):
        text = "from sinks.mapping.mapper import MapperSettings\n" + LINES
        text = text.replace("LinesSettings(SinkSettings)", "LinesSettings(MapperSettings)")
        text = text.replace("Sink[LinesSettings]", f"Sink[{settings}]")
        catalog = Catalog([plugin(f"lining_{settings}".lower(), text)])
        with pytest.raises(CatalogError) as caught:
            catalog.load("sinks", "lines")
        assert str(caught.value).endswith(
            f'"Lines" is a Sink, and {settings} are the options of a Mapper; extend SinkSettings, or write a Mapper'
        )

    def test_mapper_has_the_options_of_a_mapper(self, plugin):
        text = "from ingest.api import SinkSettings\n" + INDEXED.replace(
            "Mapper[MapperSettings]", "Mapper[SinkSettings]"
        )
        catalog = Catalog([plugin("indexing", text)])
        with pytest.raises(CatalogError, match=r'"Indexed" has no settings; write Mapper\[YourSettings\]'):
            catalog.load("sinks", "indexed")

    def test_component_of_another_type_is_refused(self, plugin):
        catalog = Catalog([plugin("ticking_c", TICKING + "SINKS = [Ticking]\n")])
        with pytest.raises(CatalogError, match='"Ticking" is not a Mapper or Sink'):
            catalog.load("sinks", "ticking")

    def test_plugin_cannot_use_a_built_in_name(self, plugin):
        with pytest.raises(CatalogError) as caught:
            Catalog([plugin("shouting_c", shout("split"))])
        assert caught.value.code == "name_taken"
        assert caught.value.message == (
            'there are 2 decorators named "split": built in and "shouting_c" (shouting_c:Shout)'
        )

    def test_plugin_cannot_use_the_name_of_another_plugin(self, plugin):
        first, second = plugin("shouting_d", shout("shout")), plugin("shouting_e", shout("shout"))
        with pytest.raises(CatalogError) as caught:
            Catalog([first, second])
        assert '"shouting_d" (shouting_d:Shout) and "shouting_e" (shouting_e:Shout)' in caught.value.message

    def test_module_named_twice_is_no_conflict(self, plugin):
        one = plugin("shouting_f", shout("shout"))
        assert Catalog([one, one]).load("decorators", "shout").kind == "shout"

    @pytest.mark.parametrize(
        ("name", "text", "code", "message"),
        [
            (
                "broken_a",
                "import no_such_package_at_all",
                "package_missing",
                'needs the module "no_such_package_at_all"',
            ),
            ("broken_b", "def", "import_failed", '"broken_b" cannot be imported: SyntaxError: invalid syntax'),
            ("broken_c", "DECORATORS = ['x']", "bad_plugin", "is not a component"),
            ("broken_d", "from ingest.api import nothing_here", "import_failed", "cannot import name 'nothing_here'"),
            ("broken_e", "\n1 / 0", "import_failed", r"ZeroDivisionError: division by zero \(broken_e:2\)"),
            ("broken_f", "import sys; sys.exit(3)", "import_failed", r"SystemExit: 3 \(broken_f:1\)"),
            (
                "broken_g",
                "import asyncio\nraise asyncio.CancelledError",
                "import_failed",
                r"CancelledError \(broken_g:2\)",
            ),
        ],
    )
    def test_module_that_fails_to_import(self, plugin, name, text, code, message):
        broken = plugin(name, text)
        with pytest.raises(CatalogError, match=message) as caught:
            Catalog([broken])
        assert caught.value.code == code

    def test_missing_module_has_a_hint(self):
        with pytest.raises(CatalogError) as caught:
            Catalog([Plugin("no_such_module.inside")])
        assert caught.value.hint == "install the package that contains it, or put its file beside the pipeline file"


class TestPackages:
    """Installed packages add components; a broken one affects only pipelines that use it."""

    @pytest.fixture
    def packages(self, tmp_path, monkeypatch):
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    def test_entry_point_is_a_component(self, packages):
        (packages / "packaged_a.py").write_text(shout("packaged"))
        install(packages, "louder", "packaged = packaged_a:Shout")
        catalog = Catalog()
        assert "packaged" in catalog.names("decorators")
        assert catalog("decorators", "packaged").__name__ == "ShoutSettings"
        assert catalog.entry("decorators", "packaged") == Entry("packaged_a:Shout", "louder 1.0")

    def test_entry_point_is_a_store(self, packages):
        text = "from sinks.memory import MemoryStore\nclass Mine(MemoryStore):\n    kind = 'packaged'\n"
        (packages / "packaged_b.py").write_text(text)
        install(packages, "keeper", "packaged = packaged_b:Mine", group="ingest.stores")
        assert issubclass(Catalog().load("stores", "packaged"), Store)
        assert Catalog()("stores", "packaged").__name__ == "MemorySettings"

    @pytest.mark.parametrize(
        ("component_type", "text", "kind"),
        [("sources", TICKING, "ticking"), ("sinks", SINK, "mine"), ("processors", LONGEST, "longest")],
        ids=["source", "sink", "processor"],
    )
    def test_entry_point_is_a_source_a_sink_or_a_processor(self, packages, component_type, text, kind):
        module = f"packaged_{kind}"
        (packages / f"{module}.py").write_text(text)
        install(packages, "bringer", f"{kind} = {module}:{kind.title()}", group=f"ingest.{component_type}")
        assert Catalog().load(component_type, kind).kind == kind
        assert Catalog().entry(component_type, kind).provider == "bringer 1.0"

    def test_packages_can_be_excluded(self, packages):
        install(packages, "louder", "packaged = packaged_a:Shout")
        assert "packaged" not in Catalog(with_packages=False).with_plugins([]).names("decorators")

    def test_name_conflict_lists_both_and_fails_only_the_lookup_of_that_name(self, packages):
        (packages / "packaged_c.py").write_text(shout("split"))
        install(packages, "louder", "split = packaged_c:Shout")
        catalog = Catalog()
        with pytest.raises(CatalogError) as caught:
            catalog("decorators", "split")
        assert caught.value.code == "name_taken"
        assert 'named "split": built in and louder 1.0 (packaged_c:Shout)' in caught.value.message
        assert catalog.load("decorators", "value").kind == "value"

    def test_name_conflict_of_two_packages(self, packages):
        install(packages, "louder", "packaged = packaged_a:Shout")
        install(packages, "quieter", "packaged = packaged_q:Whisper", version="2.1")
        with pytest.raises(CatalogError) as caught:
            Catalog().load("decorators", "packaged")
        assert "louder 1.0 (packaged_a:Shout)" in caught.value.message
        assert "quieter 2.1 (packaged_q:Whisper)" in caught.value.message

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("packaged_d", "1 / 0", "ZeroDivisionError: division by zero (packaged_d:1)"),
            ("packaged_e", "import no_such_package_at_all", '"packaged_e" needs the module "no_such_package_at_all"'),
            ("packaged_f", "", 'there is no class "Shout" in "packaged_f"'),
        ],
    )
    def test_broken_component_fails_only_its_own_lookup(self, packages, name, text, message):
        (packages / f"{name}.py").write_text(text)
        install(packages, "louder", f"packaged = {name}:Shout")
        catalog = Catalog()
        assert "packaged" in catalog.names("decorators")
        assert catalog.load("decorators", "split").kind == "split"
        with pytest.raises(CatalogError) as caught:
            catalog("decorators", "packaged")
        assert caught.value.message.startswith(f'decorator "packaged" of louder 1.0 ({name}:Shout): ')
        assert message in caught.value.message
