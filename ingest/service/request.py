"""Requests over HTTP, whose content is JSON."""

from typing import TypeVar

from pydantic import ValidationError

from ingest.api import ConfigError, Model

_M = TypeVar("_M", bound=Model)


def request_of(model: type[_M], content: bytes, hint: str) -> _M:
    """
    A request from its JSON; that of no content has the defaults.

    Args:
        model: of the request.
        content: of the HTTP request.
        hint: for the error, an example.

    Raises:
        ConfigError: it is no such request.
    """
    try:
        return model.model_validate_json(content or b"{}")
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "the request"
        message = first["msg"].removeprefix("Value error, ")  # pydantic's, of an error in a validator
        raise ConfigError(f"{place}: {message}", hint=hint) from error
