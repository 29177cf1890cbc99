"""The route decorator, and the two ways in which sinks use its attribute."""

import json

import pytest

from decorators.route import Route
from ingest.catalog import Catalog
from ingest.config import load
from ingest.dry_run import DryRun
from ingest.plan.assemble import plan_of

RULES = "rules: [{when: \"%{level} == 'audit'\", to: audit}, {when: exists(app), to: 'app_%{app}'}]"


@pytest.mark.parametrize(
    ("settings", "attributes", "expected"),
    [
        (RULES, {"level": "audit", "app": "x"}, b"audit"),
        (RULES, {"level": "info", "app": "x"}, b"app_x"),
        (RULES, {"level": "info"}, None),
        (f"{RULES}, otherwise: rest", {}, b"rest"),
        (f"{RULES}, otherwise: 'rest_%{{level}}'", {"level": "info"}, b"rest_info"),
        (f"{RULES}, otherwise: 'rest_%{{level}}', on_missing: unset", {}, None),
        (f"{RULES}, otherwise: 'rest_%{{level}}', on_missing: empty", {}, b"rest_"),
    ],
    ids=["first", "second", "none", "otherwise", "otherwise-template", "no-route", "half-of-a-route"],
)
def test_first_matching_rule_sets_the_route(attributes_after, settings, attributes, expected):
    assert attributes_after(Route, f"{{{settings}}}", b"", attributes).get("route") == expected


def test_destination_is_set_in_the_given_attribute(attributes_after):
    found = attributes_after(Route, "{rules: [{when: exists(body), to: x}], attribute: '2hb_f:to'}", b"a")
    assert found == {"2hb_f:to": b"x"}


def test_existing_route_is_replaced_or_fails_if_written_once(attributes_after, refusal_of):
    settings = "{rules: [{when: exists(a), to: b}], otherwise: c}"
    assert attributes_after(Route, settings, b"", {"route": "before"}) == {"route": b"c"}
    assert refusal_of(Route, settings, b"", {"route": "before"}, write_once=True) == "attribute_exists"


def test_route_with_an_absent_attribute_fails_the_event(refusal_of):
    assert refusal_of(Route, "{rules: [{when: exists(body), to: 'app_%{app}'}]}", b"x") == "no_attribute"
    assert refusal_of(Route, "{rules: [{when: exists(a), to: b}], otherwise: '%{app}'}") == "no_attribute"


def test_condition_without_a_value_fails_the_event(refusal_of):
    settings = "{rules: [{when: '%{int(%{n})} > 1', to: many}]}"
    assert refusal_of(Route, settings, b"", {"n": "x"}) == "not_a_number"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("{}", [("missing", ("rules",))]),
        ("{rules: []}", [("too_short", ("rules",))]),
        ("{rules: [{when: '=='  , to: x}]}", [("bad_expression", ("rules", 0, "when"))]),
        ("{rules: [{when: exists(a)}]}", [("missing", ("rules", 0, "to"))]),
        ("{rules: [{when: exists(a), to: x, from: y}]}", [("extra_forbidden", ("rules", 0, "from"))]),
    ],
)
def test_invalid_options_are_rejected(errors_of, settings, expected):
    assert errors_of(Route, settings) == expected


def puts(tmp_path, sinks, bodies):
    """Body -> (sink, table) of each of its puts."""
    content = {
        "version": 1,
        "stores": {"logs": {"memory": {}}},
        "pipelines": {
            "p": {
                "source": {"files": {"path": "in"}},
                "decorators": [
                    {"value": {"attribute": "2hb_", "value": "%{offset}"}},
                    {"value": {"attribute": "2hb_f:b", "value": "%{body}"}},
                    {
                        "route": {
                            "rules": [{"when": f"%{{body}} == '{name}'", "to": name} for name in ("audit", "web")],
                            "otherwise": "rest",
                        }
                    },
                ],
                "sinks": [{"attr2hbase": options} for options in sinks],
            }
        },
    }
    (tmp_path / "p.yaml").write_text(json.dumps(content))
    configuration = load(tmp_path / "p.yaml", env={}, lookup=Catalog())
    dry_run = DryRun(plan_of(configuration, configuration.pipelines["p"], Catalog()))
    lines = [output.line for output in dry_run.run({"body": body} for body in bodies)]
    return [([(put["sink"], put["table"]) for put in line["puts"]], line["reason"]) for line in lines]


def test_route_to_a_sink(tmp_path):
    sinks = [
        {"table": "t", "label": "audits", "when": "%{route} == 'audit'"},
        {"table": "t", "label": "both", "when": "%{route} in ('audit', 'web')"},
    ]
    assert puts(tmp_path, sinks, ["audit", "web", "x"]) == [
        ([("audits", "t"), ("both", "t")], None),
        ([("both", "t")], None),
        ([], "no_sink"),
    ]


def test_route_to_a_table(tmp_path):
    found = puts(tmp_path, [{"table": "logs_%{route}"}], ["audit", "web", "x"])
    assert [table for ((_, table),), _ in found] == ["logs_audit", "logs_web", "logs_rest"]
