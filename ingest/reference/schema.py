"""The JSON Schema of pipeline files, with all components, for `attr2hbase config schema` and editors."""

from collections.abc import Mapping
from typing import Any

from pydantic.json_schema import models_json_schema

from ingest.api import CatalogError, Model
from ingest.config.binder import STATE_DIR, VERSION
from ingest.config.components import Lookup
from ingest.config.keys import TOP_KEYS
from ingest.config.options import (
    DEAD_LETTERS,
    DumpOptions,
    PipelineOptions,
    SecretsOptions,
    ServiceOptions,
    SparkOptions,
)
from ingest.config.tables import table_options
from ingest.config.test_cases import CaseOptions
from ingest.registry.options import RegistryOptions

_TYPES = ("decorators", "sinks", "stores", "sources")
_REF = "#/$defs/{model}"
_VARIABLE = {"type": "string", "pattern": r"\$\{"}
_TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
_SCALARS = frozenset(["integer", "number", "boolean"])
_ABOUT = frozenset(["description", "default", "title"])
_SCHEMAS = frozenset(["additionalProperties", "items", "propertyNames", "not"])  # keywords whose value is a schema
_LISTS_OF_SCHEMAS = frozenset(["anyOf", "oneOf", "allOf", "prefixItems"])
_SCHEMAS_BY_NAME = frozenset(["$defs", "properties", "patternProperties"])

Schema = dict[str, Any]


def json_schema(lookup: Lookup) -> Schema:
    """The schema of a whole file; the options of components that cannot be imported are not restricted."""
    by_type: dict[str, dict[str, type[Model] | None]] = {
        component_type: {name: _settings(lookup, component_type, name) for name in lookup.names(component_type)}
        for component_type in _TYPES
    }
    by_type["dead_letters"] = dict(DEAD_LETTERS)
    table_model = table_options(lookup.table_features())
    sections: tuple[type[Model], ...] = (
        SecretsOptions,
        ServiceOptions,
        RegistryOptions,
        DumpOptions,
        SparkOptions,
        table_model,
        PipelineOptions,
        CaseOptions,
    )
    models = [
        *sections,
        *(model for components in by_type.values() for model in components.values() if model is not None),
    ]
    refs, shared = models_json_schema([(model, "validation") for model in dict.fromkeys(models)], ref_template=_REF)
    definitions: Schema = _inside("$defs", shared.get("$defs", {}))

    def ref(model: type[Model]) -> Schema:
        return dict(refs[model, "validation"])

    for component_type, components in by_type.items():
        definitions[f"any_{component_type}"] = _component(
            {name: None if model is None else ref(model) for name, model in components.items()}
        )
    definitions["decorator"] = {"anyOf": [_named("any_decorators"), _one_key({"chain": {"type": "string"}})]}
    definitions["pipeline"] = _pipeline(definitions[ref(PipelineOptions)["$ref"].removeprefix("#/$defs/")])
    decorators = {"type": "array", "items": _named("decorator")}
    properties: dict[str, Schema] = {
        "version": {"const": VERSION},
        "include": {"anyOf": [{"type": "string"}, _TEXTS]},
        "plugins": _TEXTS,
        "secrets": ref(SecretsOptions),
        "state_dir": {"type": "string", "default": STATE_DIR},
        "local_dir": {"type": "string", "default": STATE_DIR},
        "service": ref(ServiceOptions),
        "registry": ref(RegistryOptions),
        "dump": ref(DumpOptions),
        "spark": ref(SparkOptions),
        "stores": _each(_named("any_stores")),
        "tables": _each({"anyOf": [ref(table_model), {"type": "null"}]}),
        "chains": _each(decorators),
        "pipelines": _each(_named("pipeline")),
        "tests": {"type": "array", "items": ref(CaseOptions)},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "attr2hbase pipelines",
        "type": "object",
        "properties": {key: properties[key] | {"description": text} for key, text in TOP_KEYS.items()},
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def _settings(lookup: Lookup, component_type: str, name: str) -> type[Model] | None:
    try:
        return lookup(component_type, name)
    except CatalogError:
        return None


def _named(definition: str) -> Schema:
    return {"$ref": f"#/$defs/{definition}"}


def _each(schema: Schema) -> Schema:
    return {"type": "object", "additionalProperties": schema}


def _one_key(properties: Mapping[str, Schema]) -> Schema:
    return {
        "type": "object",
        "properties": dict(properties),
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }


def _component(components: Mapping[str, Schema | None]) -> Schema:
    """A component: `name: {options}`, or the name alone."""
    options = {name: {} if ref is None else {"anyOf": [ref, {"type": "null"}]} for name, ref in components.items()}
    return {"anyOf": [_one_key(options), {"enum": sorted(components)}]}


def _pipeline(options: Mapping[str, Any]) -> Schema:
    properties = {
        "source": _named("any_sources"),
        "decorators": {"type": "array", "items": _named("decorator")},
        "sinks": {"type": "array", "items": _named("any_sinks"), "minItems": 1},
        "dead_letters": _named("any_dead_letters"),
    }
    return {
        "type": "object",
        "properties": properties | dict(options["properties"]),
        "additionalProperties": False,
    }


def _with_variables(schema: Any) -> Any:
    """A schema in which values that are not text, or have a form, may also be `${VAR}`."""
    if not isinstance(schema, Mapping):
        return schema  # true or false
    made = {key: _inside(key, value) for key, value in schema.items() if key != "example"}
    if schema.get("type") not in _SCALARS and "enum" not in schema and "pattern" not in schema:
        return made
    about = {key: value for key, value in made.items() if key in _ABOUT}
    return {**about, "anyOf": [{key: value for key, value in made.items() if key not in about}, _VARIABLE]}


def _inside(keyword: str, value: Any) -> Any:
    if keyword in _SCHEMAS_BY_NAME:
        return {name: _with_variables(each) for name, each in value.items()}
    if keyword in _LISTS_OF_SCHEMAS:
        return [_with_variables(each) for each in value]
    return _with_variables(value) if keyword in _SCHEMAS else value
