"""Code of others: files beside a pipeline, and the rules a component keeps before it is used."""

import json
import sys

import pytest

from ingest.api import CatalogError, Decorator, Example, FanOut, Settings, Store, StoreSettings, option
from ingest.plugins.contract import check_component
from ingest.plugins.guard import describe_exception
from ingest.plugins.loader import Plugin, PluginFile, class_at, file_of


@pytest.fixture
def beside(tmp_path):
    """Writes a module into a folder; what it is there."""

    def write(module: str, text: str) -> Plugin:
        (tmp_path / f"{module}.py").write_text(text)
        return Plugin(module, tmp_path)

    return write


class TestFiles:
    def test_file_in_the_folder_is_loaded_without_the_path_of_modules(self, beside, tmp_path):
        file = file_of(beside("beside_a", "VALUE = __file__\n"))
        assert str(tmp_path / "beside_a.py") == file.load().VALUE
        assert str(tmp_path) not in sys.path

    def test_its_neighbours_are_no_modules(self, beside):
        beside("beside_neighbour", "")
        file = file_of(beside("beside_b", "import beside_neighbour"))
        with pytest.raises(CatalogError, match='"beside_b" needs the module "beside_neighbour"'):
            file.load()
        assert "beside_b" not in sys.modules

    def test_nothing_is_written_beside_it(self, beside, tmp_path):
        file_of(beside("beside_c", "")).load()
        assert [path.name for path in tmp_path.iterdir()] == ["beside_c.py"]

    def test_text_is_loaded_once_and_again_when_it_changed(self, beside):
        first = file_of(beside("beside_d", "VALUE = 1\n")).load()
        assert file_of(beside("beside_d", "VALUE = 1\n")).load() is first
        assert file_of(beside("beside_d", "VALUE = 2\n")).load().VALUE == 2

    def test_text_is_enough_where_the_file_is_not(self):
        module = PluginFile("beside_e", "/nowhere/beside_e.py", b"class One:\n    pass\n").load()
        assert class_at("beside_e:One") is module.One

    def test_traceback_shows_its_lines(self, beside):
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
    def test_paths_are_no_names(self, beside, name, tmp_path):
        beside("steps", "raise SystemExit")
        if name == "steps.py":  # the module `py` of a package that is not there
            assert file_of(Plugin(name, tmp_path)) is None
            return
        with pytest.raises(CatalogError, match="is no name of a module") as caught:
            file_of(Plugin(name, tmp_path))
        assert 'for the file "steps.py" in the folder of this one, write steps' in str(caught.value)

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


class Unshown(Good):
    """Does nothing."""

    examples = ()


class Many(FanOut[GoodSettings]):
    """Many of one."""

    kind = "good"
    examples = (Example("nothing"),)

    def decorate(self, event):
        return [event]


class OtherKind(Good):
    """Does nothing."""

    kind = "other"


class NoStoreSettings(Store):
    """Keeps nothing."""

    kind = "good"


NoStoreSettings.__abstractmethods__ = frozenset()


def with_options(**fields):
    """A good decorator whose options are these: name -> (type, default)."""
    names = {name: kind for name, (kind, _) in fields.items()}
    values = {name: value for name, (_, value) in fields.items()}
    settings = type("OddSettings", (Settings,), {"__annotations__": names, "__module__": __name__, **values})
    return type("Odd", (Good,), {"__doc__": "Does nothing.", "settings_class": classmethod(lambda _: settings)})


class TestRules:
    @pytest.mark.parametrize("component", [Good, NoOptions, Many])
    def test_good_ones_pass(self, component):
        check_component(component, "decorators", "good")

    @pytest.mark.parametrize(
        ("component", "message"),
        [
            (dict, '"dict" is no Decorator nor FanOut; it must be a subclass of it'),
            (StoreSettings, '"StoreSettings" is no Decorator nor FanOut; it must be a subclass of it'),
            (Unwritten, '"Unwritten" leaves out decorate; write it'),
            (
                OtherKind,
                '"OtherKind" has the kind \'other\' and is known as "good"; both are one name of a-z, 0-9 and _',
            ),
            (Undocumented, '"Undocumented" has no docstring; say what it does: `ingest describe` shows it'),
            (Unshown, '"Unshown" has no examples; give it some: see ingest.api.Example'),
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
                'option "index" of OddSettings says nothing of itself; write option("what it is for")',
            ),
        ],
        ids=lambda value: value.__name__ if isinstance(value, type) else "",
    )
    def test_error_names_what_is_missing(self, component, message):
        with pytest.raises(CatalogError) as caught:
            check_component(component, "decorators", "good")
        assert (str(caught.value)[: len(message)], caught.value.code) == (message, "bad_plugin")

    def test_name_that_yaml_could_not_have_had(self):
        odd = type("Odd", (Good,), {"kind": "Not-Good", "__doc__": "Does nothing."})
        with pytest.raises(CatalogError, match="one name of a-z"):
            check_component(odd, "decorators", "Not-Good")

    def test_stores_have_settings_of_stores(self):
        with pytest.raises(CatalogError, match=r"write Store\[YourSettings\] with a subclass of StoreSettings"):
            check_component(NoStoreSettings, "stores", "good")
