"""The write rate of a running service, from its page `/metrics`."""

from collections.abc import Container

from ingest.api import ConfigError
from ingest.observe.exposition import values_by_label

_STORED = "attr2hbase_bytes_total"


def stored_bytes(content: bytes, url: str, pipelines: Container[str] | None = None) -> float:
    """
    Bytes that pipelines have stored since the service started.

    Args:
        content: of the page.
        url: for messages.
        pipelines: names; None for all of the service.

    Raises:
        ConfigError: the page has no such metric.
    """
    try:
        found = values_by_label(content, _STORED, "pipeline")
    except ValueError:
        found = {}  # the page of another program
    wanted = [value for name, value in found.items() if pipelines is None or name in pipelines]
    if not wanted:
        what = "" if not found else " of the pipelines in the file"
        raise ConfigError(
            f'"{url}" has no metric {_STORED}{what}',
            hint="--metrics takes the page /metrics of a running service, by default http://127.0.0.1:9464/metrics",
        )
    return sum(wanted)
