"""Adds the defaults of omitted options to a configuration."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from ingest.api import Model
from ingest.config import Configuration, Lookup
from ingest.config.options import (
    DEAD_LETTERS,
    DumpOptions,
    PipelineOptions,
    SecretsOptions,
    ServiceOptions,
    SparkOptions,
)
from ingest.config.tables import table_options
from ingest.config.translate import model_at
from ingest.registry.options import RegistryOptions

_SECTIONS: Mapping[str, type[Model]] = {"service": ServiceOptions, "spark": SparkOptions}


def with_defaults(configuration: Configuration, lookup: Lookup) -> dict[str, object]:
    """A configuration as plain data, with the default of every option that has one."""
    found: dict[str, object] = dict(configuration.effective)
    found["state_dir"] = configuration.state_url or str(configuration.local_dir)
    if configuration.state_url is not None:
        found["local_dir"] = str(configuration.local_dir)
    if "secrets" in found:
        found["secrets"] = _with_defaults(SecretsOptions, found["secrets"])
    if "registry" in found:
        found["registry"] = _with_defaults(RegistryOptions, found["registry"])
    if "dump" in found:
        found["dump"] = _with_defaults(DumpOptions, found["dump"])
    for name, model in _SECTIONS.items():
        found[name] = _with_defaults(model, found.get(name))
    table_model = table_options(lookup.table_features())
    found["tables"] = {
        name: _with_defaults(table_model, table) for name, table in _mapping(found.get("tables")).items()
    }
    found["stores"] = {
        name: _component(store, "stores", lookup) for name, store in _mapping(found.get("stores")).items()
    }
    if "chains" in found:
        found["chains"] = {
            name: [_component(each, "decorators", lookup) for each in chain]
            for name, chain in _mapping(found["chains"]).items()
        }
    found["pipelines"] = {
        name: _pipeline(_mapping(pipeline), lookup) for name, pipeline in _mapping(found.get("pipelines")).items()
    }
    return found


def _pipeline(pipeline: Mapping[str, Any], lookup: Lookup) -> dict[str, object]:
    found = {**pipeline, **_with_defaults(PipelineOptions, pipeline)}
    found["source"] = _component(pipeline["source"], "sources", lookup)
    for key, component_type in (("decorators", "decorators"), ("sinks", "sinks")):
        found[key] = [_component(each, component_type, lookup) for each in pipeline.get(key) or ()]
    kind, options = _named(pipeline.get("dead_letters") or "files")
    found["dead_letters"] = {kind: _with_defaults(DEAD_LETTERS[kind], options)}
    return found


def _component(written: object, component_type: str, lookup: Lookup) -> object:
    """A component with its defaults; a reference to a chain is unchanged."""
    kind, options = _named(written)
    model = lookup(component_type, kind)
    return written if model is None else {kind: _with_defaults(model, options)}


def _named(written: object) -> tuple[str, object]:
    """The kind of a component and its options."""
    if isinstance(written, Mapping):
        ((kind, options),) = written.items()
        return str(kind), options
    return str(written), None


def _mapping(written: object) -> Mapping[str, Any]:
    return written if isinstance(written, Mapping) else {}


def _with_defaults(model: type[BaseModel], written: object) -> dict[str, object]:
    """Options with the defaults of a model, in its order."""
    options = _mapping(written)
    found = {}
    for name, field in model.model_fields.items():
        if name not in options and field.default is PydanticUndefined:
            continue
        value = options.get(name, field.default)
        inner, listed = model_at(field.annotation, ()), model_at(field.annotation, (0,))
        if inner is not None and isinstance(value, Mapping):
            value = _with_defaults(inner, value)
        elif listed is not None and isinstance(value, list):
            value = [_with_defaults(listed, each) if isinstance(each, Mapping) else each for each in value]
        elif isinstance(value, Mapping) and (named := model_at(field.annotation, ("",))) is not None:
            value = {key: _with_defaults(named, each) for key, each in value.items()}
        found[name] = value
    return {**found, **{name: value for name, value in options.items() if name not in found}}
