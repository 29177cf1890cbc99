"""Requests over HTTP, whose content is JSON, and options of commands."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import orjson
from pydantic import ValidationError

from ingest.api import ConfigError, Model
from ingest.config.translate import limit_message

_M = TypeVar("_M", bound=Model)


def request_of(model: type[_M], content: bytes, hint: str) -> _M:
    """
    A request from its JSON; without content it has the defaults.

    Args:
        model: of the request.
        content: of the HTTP request.
        hint: for the error, an example.

    Raises:
        ConfigError: it is no such request.
    """
    return options_of(model, content or b"{}", whole="the request", hint=hint)


def options_of(
    model: type[_M],
    given: Mapping[str, Any] | bytes,
    *,
    naming: Callable[[str], str] = str,
    whole: str = "",
    hint: str | None = None,
) -> _M:
    """
    Options of a job from what was given.

    Args:
        model: of the options.
        given: values as they are written in YAML, or an object of them as JSON.
        naming: the name of an option, for the error.
        whole: the name of what was given, for an error that is about no option.
        hint: for the error.

    Raises:
        ConfigError: an option is missing, unknown, or has a wrong value.
    """
    try:
        return model.model_validate_json(given) if isinstance(given, bytes) else model.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name, *rest = [*map(str, first["loc"]), ""]
        place = ".".join([naming(name), *rest[:-1]]) if name else whole
        text = "" if isinstance(given, bytes) else str(given.get(name, ""))
        message = limit_message(first, text) or first["msg"].removeprefix("Value error, ")  # pydantic's
        raise ConfigError(f"{place}: {message}" if place else message, hint=hint) from error


def json_object(content: bytes) -> dict[str, Any]:
    """
    The object that a request has as JSON.

    Raises:
        ConfigError: it has none.
    """
    try:
        found = orjson.loads(content)
    except orjson.JSONDecodeError as error:
        raise ConfigError(f"the request is not JSON: {error}", hint="send the options as a JSON object") from error
    if not isinstance(found, dict):
        raise ConfigError("the request is no JSON object", hint="send the options as a JSON object")
    return found
