"""Plugins in the commands: found, shown with package and version, and reported if broken."""

import pytest

from tests.support.plugins import install, pipeline, shout


@pytest.fixture
def packages(folder, monkeypatch):
    """A folder of installed packages; not the working directory."""
    found = folder / "packages"
    found.mkdir()
    monkeypatch.syspath_prepend(found)
    return found


@pytest.fixture
def louder(packages):
    """An installed plugin with the decorator `loud`."""
    (packages / "cli_louder.py").write_text(shout("loud"))
    install(packages, "louder", "loud = cli_louder:Shout", version="1.2")


@pytest.mark.usefixtures("louder")
class TestPackage:
    def test_list_names_the_provider(self, ingest):
        (entry,) = [each for each in ingest("describe", "--output", "json").lines if each["name"] == "loud"]
        expected = {"type": "decorators", "name": "loud", "summary": "Say it louder.", "provider": "louder 1.2"}
        assert entry == expected
        assert "Say it louder. (from louder 1.2)" in ingest("describe").out

    def test_page_names_the_provider(self, ingest):
        page = ingest("describe", "loud", "--output", "json").lines[0]
        assert (page["provider"], page["options"][0]["name"]) == ("louder 1.2", "mark")
        assert "\nProvided by louder 1.2.\n" in ingest("describe", "loud").out

    def test_error_that_it_declares_has_a_page(self, ingest, packages):
        install(packages, "whispering", "whisper = cli_whispering:Shout")
        assert ingest("describe", "error", "too_loud").code == 3
        own = '\n\nclass TooLoudError(DecorateError):\n    """It is\n    too loud."""\n\n    code = \'too_loud\'\n'
        module = packages / "cli_whispering.py"
        module.write_text(shout("loud") + own + "    remedy = 'Whisper.'\n")
        page = ingest("describe", "error", "too_loud", "--output", "json").json
        assert (page["meaning"], page["remedy"], page["exit_code"]) == ("It is too loud.", "Whisper.", None)
        assert "dead letter" in page["reaction"]
        module.write_text(shout("loud") + own.replace("too_loud", "no_match") + "    remedy = 'Whisper.'\n")
        assert "No pattern of the decorator matches" in ingest("describe", "error", "no_match").out

    def test_validate_reports_the_provider(self, ingest, folder):
        (folder / "p.yaml").write_text(pipeline("loud"))
        result = ingest("validate", "p.yaml")
        assert (result.code, result.err.splitlines()[0]) == (0, 'decorator "loud" is from louder 1.2')
        found = ingest("validate", "p.yaml", "--output", "json").json
        assert found["plugins"] == [{"type": "decorators", "name": "loud", "provider": "louder 1.2"}]

    def test_options_are_checked(self, ingest, folder):
        (folder / "p.yaml").write_text(pipeline("loud: {marc: 5}"))
        result = ingest("validate", "p.yaml")
        assert 'unknown-field: "marc" is not an option of loud; did you mean "mark"?' in result.err

    def test_explain_and_test(self, ingest, folder):
        (folder / "p.yaml").write_text(pipeline("loud"))
        explained = ingest("explain", "p.yaml")
        assert explained.err.startswith('decorator "loud" is from louder 1.2\n')
        assert "f:body = HEY!" in explained.out
        assert ingest("test", "p.yaml").code == 0

    def test_schema_for_editors_has_it(self, ingest):
        assert '"loud"' in ingest("config", "schema").out


class TestBrokenPackage:
    @pytest.fixture(autouse=True)
    def _broken(self, packages):
        (packages / "cli_broken.py").write_text("import no_such_library\n")
        install(packages, "broken", "loud = cli_broken:Shout")

    def test_other_components_are_unaffected(self, ingest, pipeline):
        assert ingest("test", "pipeline.yaml").code == 0
        assert ingest("describe", "split").code == 0

    def test_list_shows_the_error(self, ingest):
        result = ingest("describe")
        reason = (
            'decorator "loud" of broken 1.0 (cli_broken:Shout): "cli_broken" needs the module "no_such_library"; '
            'install the package that contains "no_such_library"'
        )
        assert (result.code, f"CANNOT BE USED: {reason}" in result.out) == (0, True)
        (entry,) = [each for each in ingest("describe", "--output", "json").lines if each["name"] == "loud"]
        assert entry == {"type": "decorators", "name": "loud", "error": reason}

    def test_page_is_an_error(self, ingest):
        result = ingest("describe", "loud")
        assert (result.code, 'needs the module "no_such_library"' in result.err) == (2, True)

    def test_validate_names_the_location(self, ingest, folder):
        (folder / "p.yaml").write_text(pipeline("loud"))
        result = ingest("validate", "p.yaml")
        assert result.code == 2
        assert result.err.startswith(
            'p.yaml:8:9: unknown-component: decorator "loud" of broken 1.0 (cli_broken:Shout): '
            '"cli_broken" needs the module "no_such_library"; install the package that contains "no_such_library"\n'
        )


class TestFile:
    def test_file_beside_the_pipeline(self, ingest, folder, monkeypatch):
        (folder / "jobs").mkdir()
        (folder / "jobs" / "cli_steps.py").write_text(shout("loud"))
        (folder / "jobs" / "p.yaml").write_text(pipeline("loud", "plugins: [cli_steps]"))
        assert ingest("test", "jobs/p.yaml").code == 0
        assert 'decorator "loud" is from "cli_steps.py"' in ingest("validate", "jobs/p.yaml").err
        monkeypatch.chdir(folder / "jobs")
        assert ingest("test", "p.yaml").code == 0

    def test_file_beside_the_file_that_names_it(self, ingest, folder):
        (folder / "shared").mkdir()
        (folder / "shared" / "cli_shared.py").write_text(shout("loud"))
        (folder / "shared" / "plugins.yaml").write_text("plugins: [cli_shared]\n")
        (folder / "p.yaml").write_text(pipeline("loud", "include: shared/plugins.yaml"))
        assert ingest("test", "p.yaml").code == 0

    def test_import_error_names_its_line(self, ingest, folder):
        (folder / "cli_faulty.py").write_text("\n\nraise KeyError('x')\n")
        (folder / "p.yaml").write_text(pipeline("loud", "plugins: [cli_faulty]"))
        result = ingest("validate", "p.yaml")
        assert result.code == 2
        assert (
            "p.yaml:2:11: unknown-reference: \"cli_faulty\" cannot be imported: KeyError: 'x' (cli_faulty:3)\n"
            in result.err
        )

    def test_contract_violation_names_the_location_of_the_decorator(self, ingest, folder):
        (folder / "cli_no_doc.py").write_text(shout("loud").replace('    "Say it louder."\n', ""))
        (folder / "p.yaml").write_text(pipeline("loud", "plugins: [cli_no_doc]"))
        result = ingest("validate", "p.yaml")
        assert (
            'p.yaml:8:9: unknown-component: decorator "loud" of "cli_no_doc.py" (cli_no_doc:Shout): "Shout" has no '
            "docstring; add one" in result.err
        )

    def test_bug_names_the_decorator_and_line(self, ingest, folder):
        (folder / "cli_bug.py").write_text(shout("loud").replace("event.body = ", "event.body = 1 / 0 or "))
        (folder / "p.yaml").write_text(pipeline("loud", "plugins: [cli_bug]"))
        (line,) = ingest("explain", "p.yaml", "--output", "json").lines
        assert line["error"] == {
            "code": "decorator_bug",
            "message": 'ZeroDivisionError: division by zero (cli_bug:16, "cli_bug.py")',
            "decorator": "loud",
        }

    def test_hanging_decorator_times_out(self, ingest, folder):
        (folder / "cli_hang.py").write_text(shout("loud").replace("        return True", "        while True: pass"))
        (folder / "p.yaml").write_text(pipeline("loud", "plugins: [cli_hang]"))
        (line,) = ingest("explain", "p.yaml", "--output", "json").lines
        assert line["error"] == {
            "code": "decorator_timeout",
            "message": 'the decorator did not return within 3 s (cli_hang:17, "cli_hang.py")',
            "decorator": "loud",
        }

    def test_decorator_that_cannot_be_created_is_named(self, ingest, folder):
        constructor = "    def __init__(self, settings):\n        raise ValueError('no table')\n\n    def decorate"
        (folder / "cli_failing.py").write_text(shout("loud").replace("    def decorate", constructor))
        (folder / "p.yaml").write_text(pipeline("loud", "plugins: [cli_failing]"))
        result = ingest("test", "p.yaml")
        assert result.code == 2
        assert '"loud" cannot be created: ValueError: no table (cli_failing:16, "cli_failing.py")' in result.err


class TestUnnamedCode:
    """Only `plugins` in YAML names code."""

    @pytest.mark.parametrize(
        "decorator",
        ['"cli_trap:Shout"', '"cli_trap.Shout"', '"cli_trap"', '{"cli_trap:Shout": {}}', '{"../cli_trap": {}}'],
    )
    def test_path_is_not_a_decorator(self, ingest, folder, monkeypatch, decorator):
        monkeypatch.syspath_prepend(folder)
        (folder / "cli_trap.py").write_text("open('imported', 'w').close()\n" + shout("loud"))
        (folder / "p.yaml").write_text(pipeline(decorator))
        result = ingest("validate", "p.yaml")
        assert (result.code, "unknown-component" in result.err) == (2, True)
        assert not (folder / "imported").exists()

    @pytest.mark.parametrize("plugin", ["./cli_trap", "../cli_trap.py", "/tmp/cli_trap", "cli_trap.py:Shout"])
    def test_path_is_not_a_plugin(self, ingest, folder, plugin):
        (folder / "cli_trap.py").write_text("open('imported', 'w').close()\n" + shout("loud"))
        (folder / "p.yaml").write_text(pipeline("loud", f'plugins: ["{plugin}"]'))
        result = ingest("validate", "p.yaml")
        assert (result.code, "is not a module name" in result.err) == (2, True)
        assert not (folder / "imported").exists()

    def test_file_not_named_is_not_imported(self, ingest, folder):
        (folder / "cli_trap.py").write_text("open('imported', 'w').close()\n" + shout("loud"))
        (folder / "p.yaml").write_text(pipeline("loud"))
        assert ingest("validate", "p.yaml").code == 2
        assert not (folder / "imported").exists()
