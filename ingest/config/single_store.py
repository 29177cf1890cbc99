"""One store from text options, checked by the same rules as those of a pipeline file."""

import json
from collections.abc import Mapping

from ingest.api import ConfigInvalidError, StoreSettings
from ingest.config.components import Binding, Lookup
from ingest.config.model import Component
from ingest.config.problems import Severity, report_of
from ingest.config.reading import read_text
from ingest.masks import Masks


def single_store(
    kind: str, options: Mapping[str, str], *, name: str, lookup: Lookup
) -> tuple[Component[StoreSettings], Masks]:
    """
    A store of this kind.

    Args:
        kind: of the store.
        options: as in a pipeline file, each value as text; `thrift2.host` is the option `host` of `thrift2`.
        name: of the options, for messages.
        lookup: finds the options of components; usually an `ingest.catalog.Catalog`.

    Returns:
        The store, and masks of all its secrets.

    Raises:
        ConfigInvalidError: the options are not valid; the report has all problems.
    """
    nested: dict[str, object] = {}
    values: dict[str, str] = {}
    for number, (path, text) in enumerate(options.items()):
        *parents, last = path.split(".")
        group = nested
        for parent in parents:
            inner = group.setdefault(parent, {})
            if not isinstance(inner, dict):
                inner = group[parent] = {}
            group = inner
        # the value of a variable is converted to the type of the option
        values[f"OPTION_{number}"] = text
        group[last] = f"${{OPTION_{number}}}"
    document = read_text(json.dumps({"store": {kind: nested}}), name, values)
    store = None
    if document.is_whole:
        binding = Binding(lookup, document.problems, document.masks)
        store = binding.component(document.root.entries["store"], "stores", "store", {}, StoreSettings)
    report = report_of(document.problems, {}, document.masks)
    if store is None or any(problem.severity is Severity.ERROR for problem in report.problems):
        text = "; ".join(
            f"{problem.message}{f' ({problem.hint})' if problem.hint else ''}" for problem in report.errors
        )
        raise ConfigInvalidError(f"{name}: {text}", report=report)
    return store, document.masks
