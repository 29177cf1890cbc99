"""The stores of a configuration or a plan, opened and closed again."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from ingest.api import ConflictError, NotFoundError, Store, StoreSettings
from ingest.catalog import Catalog
from ingest.config.model import Component
from ingest.durable import private_files
from ingest.plugins.loader import class_at
from ingest.suggest import did_you_mean
from sinks.writing.driver_store import DriverStore


@contextmanager
def reading_store(
    component: Component[StoreSettings], catalog: Catalog | None = None, *, timeout_s: float | None = None
) -> Iterator[Store[Any]]:
    """
    A store, open for reading; another process may write to it meanwhile.

    Args:
        component: the store.
        catalog: of the component's configuration; None for a component of a plan.
        timeout_s: of each call, in place of the settings'.

    Raises:
        CatalogError: the class of the store cannot be imported.
        NotFoundError: the store does not exist.
        StoreUnavailableError: it cannot be reached.
    """
    store = unopened_reader(component, catalog, timeout_s)
    try:
        store.open()
        yield store
    finally:
        store.close()


@contextmanager
def reading_store_if_exists(
    component: Component[StoreSettings], catalog: Catalog | None = None, *, timeout_s: float | None = None
) -> Iterator[tuple[Store[Any], bool]]:
    """
    As `reading_store`, but a store that the first write creates need not exist.

    Yields:
        The store, and whether it exists. If not, it is not open, and only its capabilities are known.
    """
    store = unopened_reader(component, catalog, timeout_s)
    try:
        exists = True
        try:
            store.open()
        except NotFoundError:
            if not store.capabilities.creates_tables:
                raise
            exists = False
        yield store, exists
    finally:
        store.close()


@contextmanager
def owned_store(component: Component[StoreSettings], catalog: Catalog) -> Iterator[Store[Any]]:
    """
    A store of a configuration, open for writing.

    Raises:
        ConflictError: another process writes a store that only one process may write.
        StoreUnavailableError: it cannot be reached.
    """
    store = unopened_store(component, catalog)
    with private_files():
        try:
            open_or_advise(
                store,
                "stop that process, or wait for its end, then run this command again: only one process at a time may "
                "write it",
            )
            yield store
        finally:
            store.close()


def open_or_advise(store: Store[Any] | DriverStore, hint: str) -> None:
    """
    Open a store for writing.

    Args:
        store: not open.
        hint: for the user, if another process writes it.

    Raises:
        ConflictError: another process writes a store that only one process may write; with this hint.
        StoreUnavailableError: it cannot be reached.
    """
    try:
        store.open()
    except ConflictError as error:
        raise ConflictError(error.message, code=error.code, hint=hint) from error


def unopened_store(component: Component[StoreSettings], catalog: Catalog) -> Store[Any]:
    """
    A store of a configuration, for writing; the caller opens and closes it.

    Raises:
        CatalogError: the class of the store cannot be imported.
    """
    store: Store[Any] = catalog.load("stores", component.kind).of(component.settings)
    return store


def unopened_reader(
    component: Component[StoreSettings], catalog: Catalog | None = None, timeout_s: float | None = None
) -> Store[Any]:
    """
    A store for reading; the caller opens and closes it. Arguments as in `reading_store`.

    Raises:
        CatalogError: the class of the store cannot be imported.
    """
    store_class: type[Store[Any]] = (
        class_at(component.path) if catalog is None else catalog.load("stores", component.kind)
    )
    settings = component.settings if timeout_s is None else component.settings.with_timeout(timeout_s)
    return store_class.reader(settings)


def missing_table(
    name: str, tables: Collection[str], *, if_empty: str = "the store has no tables yet"
) -> NotFoundError:
    """
    The error for a table that a store does not have.

    Args:
        name: of the table.
        tables: of the store.
        if_empty: the hint if it has none.
    """
    hint = did_you_mean(name, tables) or (f"there is {', '.join(tables)}" if tables else if_empty)
    return NotFoundError(f'there is no table "{name}"', hint=hint)
