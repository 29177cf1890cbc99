"""Plugins: files beside a pipeline file, and the contract of a component."""

import json
import sys

import pytest

from ingest.api import CatalogError, Decorator, Example, FanOut, Settings, Store, StoreSettings, option
from ingest.plugins.contract import check_component
from ingest.plugins.guard import describe_exception
from ingest.plugins.loader import Plugin, PluginFile, class_at, file_of


@pytest.fixture
def beside(tmp_path):
    """A function that writes a plugin file into a folder."""

    def write(module: str, text: str) -> Plugin:
        (tmp_path / f"{module}.py").write_text(text)
        return Plugin(module, tmp_path)

    return write


class TestFiles:
    def test_file_is_loaded_without_a_change_of_sys_path(self, beside, tmp_path):
        file = file_of(beside("beside_a", "VALUE = __file__\n"))
        assert str(tmp_path / "beside_a.py") == file.load().VALUE
        assert str(tmp_path) not in sys.path

    def test_other_files_in_the_folder_cannot_be_imported(self, beside):
        beside("beside_other", "")
        file = file_of(beside("beside_b", "import beside_other"))
        with pytest.raises(CatalogError, match='"beside_b" needs the module "beside_other"'):
            file.load()
        assert "beside_b" not in sys.modules

    def test_no_bytecode_is_written_beside_it(self, beside, tmp_path):
        file_of(beside("beside_c", "")).load()
        assert [path.name for path in tmp_path.iterdir()] == ["beside_c.py"]

    def test_text_is_loaded_once_until_it_changes(self, beside):
        first = file_of(beside("beside_d", "VALUE = 1\n")).load()
        assert file_of(beside("beside_d", "VALUE = 1\n")).load() is first
        assert file_of(beside("beside_d", "VALUE = 2\n")).load().VALUE == 2

    def test_module_is_loaded_from_text_without_its_file(self):
        module = PluginFile("beside_e", "/nowhere/beside_e.py", b"class One:\n    pass\n").load()
        assert class_at("beside_e:One") is module.One

    def test_traceback_names_its_lines(self, beside):
        file = file_of(beside("beside_f", "def fail():\n    raise KeyError('here')\n"))
        with pytest.raises(KeyError) as caught:
            file.load().fail()
        assert describe_exception(caught.value, "beside_f", "louder 1.0") == "KeyError: 'here' (beside_f:2, louder 1.0)"

    @pytest.mark.parametrize("module", ["json", "ingest", "decorators", "pytest"])
    def test_name_of_a_library_is_refused(self, beside, module):
        before = sys.modules.get(module)
        with pytest.raises(CatalogError, match=f'has the name of another module: "{module}" of ') as caught:
            file_of(beside(module, "raise SystemExit"))
        assert caught.value.code == "name_taken"
        assert sys.modules.get(module) is before
        assert json.dumps({}) == "{}"

    @pytest.mark.parametrize("name", ["../steps", "/tmp/steps", "steps.py", "a b", "", "a..b", "class", "steps:Shout"])
    def test_path_as_module_name_is_refused(self, beside, name, tmp_path):
        beside("steps", "raise SystemExit")
        if name == "steps.py":  # the module `py` of a package `steps`, which does not exist
            assert file_of(Plugin(name, tmp_path)) is None
            return
        with pytest.raises(CatalogError, match="is not a module name") as caught:
            file_of(Plugin(name, tmp_path))
        assert 'for the file "steps.py" beside this one, write steps' in str(caught.value)

    def test_installed_module_needs_no_file(self, tmp_path):
        assert file_of(Plugin("json", tmp_path)) is None
        assert file_of(Plugin("json.decoder", tmp_path)) is None
        assert file_of(Plugin("anything")) is None


class GoodSettings(Settings):
    """Options."""

    index: int = option("Which.", default=0)


class Good(Decorator[GoodSettings]):
    """Does nothing."""

    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return True


class NoSettings(Decorator):
    """Does nothing."""

    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return True


class NoOptions(Decorator[Settings]):
    """Does nothing, in one way."""

    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return True


class Unwritten(Decorator[GoodSettings]):
    """Does nothing."""

    kind = "good"
    examples = (Example("nothing"),)


class Undocumented(Decorator[GoodSettings]):
    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return True


class WithoutExamples(Good):
    """Does nothing."""

    examples = ()


class Many(FanOut[GoodSettings]):
    """Fans out."""

    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return [event]


class OtherKind(Good):
    """Does nothing."""

    kind = "other"


class NoStoreSettings(Store):
    """Stores nothing."""

    kind = "good"


NoStoreSettings.__abstractmethods__ = frozenset()


def with_options(**fields):
    """A good decorator whose options are these: name -> (type, default)."""
    names = {name: kind for name, (kind, _) in fields.items()}
    values = {name: value for name, (_, value) in fields.items()}
    settings = type("OddSettings", (Settings,), {"__annotations__": names, "__module__": __name__, **values})
    return type("Odd", (Good,), {"__doc__": "Does nothing.", "settings_class": classmethod(lambda _: settings)})


class TestContract:
    @pytest.mark.parametrize("component", [Good, NoOptions, Many])
    def test_valid_component_is_accepted(self, component):
        check_component(component, "decorators", "good")

    @pytest.mark.parametrize(
        ("component", "message"),
        [
            (dict, '"dict" is not a Decorator or FanOut; make it a subclass'),
            (StoreSettings, '"StoreSettings" is not a Decorator or FanOut; make it a subclass'),
            (Unwritten, '"Unwritten" does not implement decorate; implement every abstract method'),
            (
                OtherKind,
                '"OtherKind" has the kind \'other\' but is registered as "good"; use one name of a-z, 0-9 and _',
            ),
            (Undocumented, '"Undocumented" has no docstring; add one: `attr2hbase describe` shows it'),
            (WithoutExamples, '"WithoutExamples" has no examples; add some: see ingest.api.Example'),
            (
                NoSettings,
                '"NoSettings" has no settings; write Decorator[YourSettings] with a subclass of Settings',
            ),
            (
                with_options(index=(object, option("Which.", default=0))),
                'option "index" of OddSettings has no type; annotate it, as in `index: int`',
            ),
            (
                with_options(index=(int, 0)),
                'option "index" of OddSettings has no description; write option("what it is for")',
            ),
        ],
        ids=lambda value: value.__name__ if isinstance(value, type) else "",
    )
    def test_error_names_the_violation(self, component, message):
        with pytest.raises(CatalogError) as caught:
            check_component(component, "decorators", "good")
        assert (str(caught.value)[: len(message)], caught.value.code) == (message, "bad_plugin")

    def test_invalid_kind_is_refused(self):
        odd = type("Odd", (Good,), {"kind": "Not-Good", "__doc__": "Does nothing."})
        with pytest.raises(CatalogError, match="one name of a-z"):
            check_component(odd, "decorators", "Not-Good")

    def test_store_without_store_settings_is_refused(self):
        with pytest.raises(CatalogError, match=r"write Store\[YourSettings\] with a subclass of StoreSettings"):
            check_component(NoStoreSettings, "stores", "good")
