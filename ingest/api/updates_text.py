"""The text of `TableSpec.updates`, for people."""

import json


def updates_in_words(text: str) -> str:
    """The deferred updates of a table, as a pipeline file declares them."""
    if not text:
        return "no deferred updates"
    found = json.loads(text)
    options = ", ".join(f"{name}: {json.dumps(value)}" for name, value in found.get("options", {}).items())
    processor = f"{{{found['processor']}: {{{options}}}}}" if options else found["processor"]
    columns = f", columns: {json.dumps(found['columns'])}" if found.get("columns") else ""
    return f"the deferred updates {{processor: {processor}{columns}}}"
