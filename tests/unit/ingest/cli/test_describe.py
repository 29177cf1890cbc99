import re

import pytest

from decorators import ALIASES
from ingest.api import Example, Priority, ProcessorExample
from ingest.catalog import COMPONENT_TYPES, Catalog
from ingest.expressions import FUNCTIONS
from ingest.reference.error_pages import error_pages
from ingest.reference.pages import cost_in, shown_example, shown_merge_example


def test_list_has_every_component(ingest):
    listed = {(entry["type"], entry["name"]) for entry in ingest("describe", "--output", "json").lines}
    catalog = Catalog()
    assert listed == {(type_, name) for type_ in COMPONENT_TYPES for name in catalog.names(type_)}


def test_list_as_text(ingest):
    result = ingest("describe")
    assert result.code == 0
    assert "decorator   split " in result.out


@pytest.mark.parametrize("name", sorted({name for type_ in COMPONENT_TYPES for name in Catalog().names(type_)}))
def test_every_component_has_a_page(ingest, name):
    result = ingest("describe", name)
    assert (result.code, result.out.split()[0]) == (0, name)
    assert ingest("describe", name, "--output", "json").lines[0]["text"] != ""


def test_list_has_import_components_and_functions_in_separate_sections(ingest):
    listed, _, rest = ingest("describe").out.partition("For imported Flume configurations:")
    imports, _, functions = rest.partition("Functions of expressions")
    assert ("decorator   hash " in listed, "decorator   digest " in listed) == (True, False)
    assert ("decorator   hash " in imports, "decorator   digest " in imports) == (False, True)
    assert sorted(FUNCTIONS) == functions.partition(":\n")[2].split("\n\n")[0].replace(",", "").split()


@pytest.mark.parametrize(("name", "decorator"), ALIASES.items())
def test_page_of_an_alias_names_the_decorator(ingest, name, decorator):
    assert f"An alias of {decorator}." in ingest("describe", name).out
    assert ingest("describe", name, "--output", "json").lines[0]["alias_of"] == decorator
    assert ingest("describe", decorator, "--output", "json").lines[0]["alias_of"] == ""


def test_expressions_show_the_language_and_every_function(ingest):
    page = ingest("describe", "expressions").out
    assert [name for name in FUNCTIONS if f"\n## {name}\n" not in page] == []
    assert "condition  = conjunct" in page
    assert "| `%{add(n, 1)}` | `n` is `7` | gives `8` |" in page
    shown = ingest("describe", "expressions", "--output", "json").json
    assert (shown["text"], [each["name"] for each in shown["functions"]]) == (page, list(FUNCTIONS))


def test_page_shows_options_and_examples(ingest):
    page = ingest("describe", "split", "--output", "json").lines[0]
    assert [option["name"] for option in page["options"]][:2] == ["separator", "index"]
    assert [option["name"] for option in page["options"]][-3:] == ["label", "when", "on_error"]
    assert page["options"][0]["default"] == "required"
    assert page["examples"][0]["lines"] == [
        "- split: {separator: ':', index: 0, attribute: ts}",
        'before  {"body":"2238947398:56"}',
        'after   {"attributes":{"ts":"2238947398"}}',
    ]


def test_page_shows_the_measured_cost_of_an_event(ingest):
    page = ingest("describe", "split", "--output", "json").lines[0]
    assert 10 < page["cost_ns"] < 1_000_000
    assert re.search(
        r"^Cost: about [0-9.]+ (ns|µs) an event \(.*Python 3", ingest("describe", "split").out, re.MULTILINE
    )
    assert ingest("describe", "memory", "--output", "json").lines[0]["cost_ns"] is None
    costs = {"machine": "a core", "ns": {"quick": 999, "slow": 20_449}}
    assert [str(cost_in(costs, name)) for name in ("quick", "slow", "newer")] == [
        "999 ns an event (a core)",
        "20.4 µs an event (a core)",
        "None",
    ]


def test_page_shows_events_of_a_fan_out_and_offsets(ingest):
    pages = {name: ingest("describe", name, "--output", "json").lines[0] for name in ("mult", "interval_sampler")}
    assert pages["mult"]["examples"][0]["lines"][2:] == ['after   {"body":"x","attributes":{"a":"1"}}'] * 3
    assert pages["interval_sampler"]["examples"][1]["lines"][1:] == [
        'before  {"body":"event 7","offset":7}',
        "after   dropped",
    ]


def test_page_shows_all_inputs_of_an_example():
    inputs = {"body": "b?", "host": "h?", "key": "k?", "attributes": {"a": "v?", "c": b"\xff"}, "earlier": ("e?",)}
    numbers = {"timestamp_ms": 7001, "nanos": 7002, "offset": 7003}
    example = Example("all", priority=Priority.DEBUG, **inputs, **numbers)
    page = "\n".join(shown_example("decorators", "split", example).lines)
    texts = ("- split: {}", "b?", "h?", "k?", "v?", '"c"', "/w==", "e?", "7001", "7002", "7003", "DEBUG")
    assert [text for text in texts if text not in page] == []


def test_page_wraps_long_events_and_lists_removed_attributes():
    body, attributes = "\u2028" + "b" * 60, {"a": "v" * 30, "left": "x", "lost": "y"}
    after = {"a": "w", "left": None, "lost": None}
    example = Example("wide", body=body, attributes=attributes, after=after)
    assert shown_example("decorators", "trim", example).lines == (
        "- trim: {}",
        "before  {",
        f'          "body": "{body}",',
        '          "attributes": {',
        f'            "a": "{"v" * 30}",',
        '            "left": "x",',
        '            "lost": "y"',
        "          }",
        "        }",
        'after   {"attributes":{"a":"w"}}',
        "gone    left, lost",
    )


@pytest.mark.parametrize(
    ("component_type", "example", "lines"),
    [
        ("decorators", Example("it stays"), ["- it: {}", "after   the same"]),
        ("decorators", Example("none of it", made=()), ["- it: {}", "after   dropped"]),
        ("sinks", Example("written"), ["- it: {}"]),
        ("sources", Example("read"), ["it: {}"]),
    ],
)
def test_page_shows_the_outcome_of_an_example(component_type, example, lines):
    assert list(shown_example(component_type, "it", example).lines) == lines


def test_page_shows_what_a_read_of_merged_values_returns():
    example = ProcessorExample("two", values=("a", b"\xff"), merged="", settings="{n: 1}", refused=("x",))
    assert shown_merge_example("it", example).lines == (
        "it: {n: 1}",
        "values  a",
        r"        \xFF",
        "refused x",
        "read    (empty)",
    )


def test_page_starts_with_own_and_required_options(ingest):
    pages = [page for name in ("kafka", "avro") for page in ingest("describe", name, "--output", "json").lines]
    options = {page["type"]: [option["name"] for option in page["options"]] for page in pages}
    assert options["sources"][:2] == ["brokers", "topics"]
    assert options["sinks"][0] == "topic"
    assert options["decorators"][0] == "schema_file"


def test_unknown_component_has_a_suggestion(ingest):
    result = ingest("describe", "spilt")
    assert (result.code, result.err) == (
        3,
        'error[not_found]: there is no component "spilt"\n  hint: did you mean "split"?\n',
    )


def test_hint_of_an_error_code_names_its_page(ingest):
    result = ingest("describe", "store_busy")
    assert result.code == 3
    assert "hint: 'attr2hbase describe error store_busy' explains the error" in result.err


def test_function_has_a_page(ingest):
    result = ingest("describe", "pad_left")
    assert result.out.startswith(
        "pad_left  function of expressions, stable\n\n%{pad_left(text, width, [fill])}\n\nThe text padded on the left"
    )
    assert "%{pad_left(id, 5, '0')}\n  id is 42\n  gives 00042\n" in result.out
    (page,) = ingest("describe", "pad_left", "--output", "json").lines
    assert (page["type"], [option["name"] for option in page["options"]]) == ("functions", ["text", "width", "fill"])


@pytest.mark.parametrize(("name", "default"), [("pad_left", "' '"), ("uuid", "''"), ("hmac_sha256", "hex")])
def test_default_of_a_parameter_is_as_an_expression_writes_it(ingest, name, default):
    (page,) = [page for page in ingest("describe", name, "--output", "json").lines if page["type"] == "functions"]
    assert page["options"][-1]["default"] == default


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_every_function_has_a_page(ingest, name):
    pages = ingest("describe", name, "--output", "json").lines
    assert pages[-1]["type"] == "functions"
    assert ingest("describe", name).code == 0


def test_unknown_function_has_a_suggestion(ingest):
    assert 'did you mean "crc32"?' in ingest("describe", "crc23").err


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("anonymise", "redact"),
        ("base64", "convert"),
        ("clone", "copy"),
        ("coalesce", "default"),
        ("date_format", "date"),
        ("abort", "fail"),
        ("discard", "filter"),
        ("grep", "filter"),
        ("gsub", "replace"),
        ("rate_limiter", "first_n"),
        ("strftime", "date"),
        ("throw", "fail"),
        ("tokenize", "split"),
    ],
)
def test_name_of_another_tool_has_a_suggestion(ingest, theirs, ours):
    assert f'hint: did you mean "{ours}"?' in ingest("describe", theirs).err


def test_examples_say_that_after_lists_changes(ingest):
    assert '"after" lists only what differs from "before"' in ingest("describe", "convert").out


def test_key_of_the_file_has_a_page(ingest):
    shown = ingest("describe", "tables")
    assert (shown.code, shown.out.splitlines()[0]) == (0, "tables: each table")
    assert [name for name in ("families.*.versions", "splits", "distribute.hash") if name not in shown.out] == []
    (page,) = ingest("describe", "tables", "--output", "json").lines
    assert (page["name"], "splits" in {option["name"] for option in page["options"]}) == ("tables", True)


@pytest.mark.parametrize(("name", "key"), [("table", "tables"), ("distribute", "tables"), ("shuffle_partition", "")])
def test_option_of_the_file_leads_to_its_key(ingest, name, key):
    assert (f"'attr2hbase describe {key}' shows the options" in ingest("describe", name).err) is bool(key)


@pytest.mark.parametrize("name", ["bucket", "salt"])
def test_name_of_salting_leads_to_the_table(ingest, name):
    assert "hint: to distribute row keys over N buckets, declare the table with `distribute: {hash: N}`" in (
        ingest("describe", name).err
    )


def test_page_without_a_terminal_fits_the_width(ingest):
    table = ingest("describe", "timestamp").out.partition("Cost: about")[0]
    assert "strptime" in table
    assert max(map(len, table.splitlines())) <= 120


@pytest.mark.parametrize("name", ["lookup", "geoip"])
def test_page_explains_relative_paths(ingest, name):
    (path,) = [
        each for each in ingest("describe", name, "--output", "json").lines[0]["options"] if each["name"] == "path"
    ]
    assert "a relative path is relative to the working directory of the command" in path["doc"]


def test_component_of_a_type_has_a_page_alone(ingest):
    assert [page["type"] for page in ingest("describe", "hbase", "--output", "json").lines] == ["sinks", "stores"]
    assert [page["type"] for page in ingest("describe", "store", "hbase", "--output", "json").lines] == ["stores"]
    assert ingest("describe", "store", "hbase").out.startswith("hbase  store, ")


@pytest.mark.parametrize(
    ("name", "hint"), [("hbaes", 'did you mean "hbase"?'), ("split", 'there is "hbase", "memory", "rocksdb"')]
)
def test_unknown_component_of_a_type_has_a_hint(ingest, name, hint):
    result = ingest("describe", "store", name)
    assert (result.code, f'there is no store "{name}"\n  hint: {hint}' in result.err) == (3, True)


def test_option_of_components_leads_to_them(ingest):
    """Also one inside another option; of an option of all, a few are named."""
    way = "it is an option of store hbase; 'attr2hbase describe store hbase' shows it"
    assert way in ingest("describe", "staging").err
    assert "it is an option of sink kafka, store hbase, source kafka; " in ingest("describe", "keytab").err
    assert re.search(
        r"it is an option of decorator \w+(, decorator \w+){4}, \d+ more; 'attr2hbase describe decorator \w+' shows it",
        ingest("describe", "when").err,
    )


def test_unexpected_argument_exits_with_2(ingest):
    assert ingest("describe", "split", "more").code == 2


class TestError:
    def test_code_has_a_page(self, ingest):
        result = ingest("describe", "error", "no_match")
        assert result.code == 0
        assert result.out.startswith("no_match\nNo pattern of the decorator matches")

    def test_page_of_a_code_is_written_as_json(self, ingest):
        page = ingest("describe", "error", "locked", "--output", "json").json
        assert (page["code"], page["exit_code"]) == ("locked", 4)

    def test_kind_of_configuration_problem(self, ingest):
        page = ingest("describe", "error", "conflict")
        assert page.out.startswith("conflict\nOptions that are valid alone exclude each other")
        assert page.out.endswith("\nWhat to do: Change or remove one of the options that the message names.\n")

    def test_every_problem_of_a_configuration(self, ingest):
        assert ingest("describe", "error", "unreachable").code == 0

    def test_all_codes_are_listed(self, ingest):
        assert "unknown_family" in ingest("describe", "error").out
        assert [entry["code"] for entry in ingest("describe", "error", "--output", "json").lines] == [
            page.code for page in error_pages()
        ]

    def test_unknown_code_has_a_suggestion(self, ingest):
        result = ingest("describe", "error", "no_mtch")
        assert (result.code, 'did you mean "no_match"?' in result.err) == (3, True)
        assert 'did you mean "bad_access_line"?' in ingest("describe", "error", "bad_acces").err

    def test_code_of_the_decorator_fail_is_named_as_one(self, ingest):
        result = ingest("describe", "error", "NO_MATCH")
        assert (result.code, "is one of a decorator `fail` of your file" in result.err) == (3, True)
