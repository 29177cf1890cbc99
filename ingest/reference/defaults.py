"""A configuration with every option that it leaves out, at its default."""

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from ingest.api import Model
from ingest.config import Configuration, Lookup
from ingest.config.options import (
    DEAD_LETTERS,
    PipelineOptions,
    SecretsOptions,
    ServiceOptions,
    SparkOptions,
    TableOptions,
)
from ingest.config.translate import model_at

_SECTIONS: Mapping[str, type[Model]] = {"service": ServiceOptions, "spark": SparkOptions}


def with_defaults(configuration: Configuration, lookup: Lookup) -> dict[str, object]:
    """The plain data of a configuration, with the defaults of all options; what has no default is left out."""
    found: dict[str, object] = dict(configuration.effective)
    found["state_dir"] = str(configuration.state_dir)
    if "secrets" in found:
        found["secrets"] = _filled(SecretsOptions, found["secrets"])
    for name, model in _SECTIONS.items():
        found[name] = _filled(model, found.get(name))
    found["tables"] = {name: _filled(TableOptions, table) for name, table in _mapping(found.get("tables")).items()}
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
    found = {**pipeline, **_filled(PipelineOptions, pipeline)}
    found["source"] = _component(pipeline["source"], "sources", lookup)
    for key, room in (("decorators", "decorators"), ("sinks", "sinks")):
        found[key] = [_component(each, room, lookup) for each in pipeline.get(key) or ()]
    kind, options = _named(pipeline.get("dead_letters") or "files")
    found["dead_letters"] = {kind: _filled(DEAD_LETTERS[kind], options)}
    return found


def _component(written: object, room: str, lookup: Lookup) -> object:
    """A component with its defaults; a named chain stays as it is."""
    kind, options = _named(written)
    model = lookup(room, kind)
    return written if model is None else {kind: _filled(model, options)}


def _named(written: object) -> tuple[str, object]:
    """The kind of a component and its options."""
    if isinstance(written, Mapping):
        ((kind, options),) = written.items()
        return str(kind), options
    return str(written), None


def _mapping(written: object) -> Mapping[str, Any]:
    return written if isinstance(written, Mapping) else {}


def _filled(model: type[BaseModel], written: object) -> dict[str, object]:
    """Options with the defaults of a model, in the model's order."""
    options = _mapping(written)
    found = {}
    for name, field in model.model_fields.items():
        if name not in options and field.default is PydanticUndefined:
            continue
        value = options.get(name, field.default)
        inner, listed = model_at(field.annotation, ()), model_at(field.annotation, (0,))
        if inner is not None and isinstance(value, Mapping):
            value = _filled(inner, value)
        elif listed is not None and isinstance(value, list):
            value = [_filled(listed, each) if isinstance(each, Mapping) else each for each in value]
        elif isinstance(value, Mapping) and (named := model_at(field.annotation, ("",))) is not None:
            value = {key: _filled(named, each) for key, each in value.items()}
        found[name] = value
    return {**found, **{name: value for name, value in options.items() if name not in found}}
