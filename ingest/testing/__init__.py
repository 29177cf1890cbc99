"""
The test kit, for this product and for plugins.

    decorators    DecoratorContract: what every decorator must do; a suite to inherit from
    stores        StoreContract: what every store must do; a new store subclasses it with a StoreFixture of its own;
                  tables and fuzzy are parts of it
    sources       SourceContract: what every source must do, as far as no server is needed
    sinks         SinkContract: what every sink without a store must do
    processors    ProcessorContract: what every processor must do; merges has the uses of its examples
    cells         rows, mutations and scans for property tests of stores
    purity        whether a call uses clocks or randomness, and gives the same result in every process
    events        events for tests
    splits        the outcomes of a split's events in a decorator

Needs pytest, and for stores and processors hypothesis: `pip install 'attr2hbase[testing]'`.
"""

import pytest

# so that a failed assertion of an inherited suite shows the difference, as in a test file
pytest.register_assert_rewrite(
    "ingest.testing.decorators",
    "ingest.testing.fuzzy",
    "ingest.testing.processors",
    "ingest.testing.sinks",
    "ingest.testing.sources",
    "ingest.testing.stores",
    "ingest.testing.tables",
)
