"""Scans whose caller may take its time for each row."""

from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import Any

from ingest.api import Row, Scan, Store

PAGE_ROWS = 500


def paged(store: Store[Any], table: str, scan: Scan) -> Generator[Row]:
    """
    The rows of a scan, page by page: no scanner is open while the caller uses a page.

    HBase ends a scanner that was not used for a minute, and reading or deleting the blobs of a page may take longer.

    Args:
        store: open.
        table: its name.
        scan: which rows; not in reverse.
    """
    remaining = scan
    while remaining.limit is None or remaining.limit > 0:
        limit = PAGE_ROWS if remaining.limit is None else min(PAGE_ROWS, remaining.limit)
        with closing(store.scan(table, replace(remaining, limit=limit, page_rows=limit))) as rows:
            page = list(rows)
        yield from page
        if len(page) < limit:
            return
        remaining = remaining.after(page[-1].key)
        if scan.limit is not None and remaining.limit is not None:
            remaining = replace(remaining, limit=remaining.limit - limit)
