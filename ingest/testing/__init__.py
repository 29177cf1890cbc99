"""
The test kit, for this product and for plugins.

    decorators    DecoratorContract: what every decorator must do; a suite to inherit from
    stores        StoreContract: what every store must do; a new store subclasses it with a StoreFixture of its own
    cells         rows, mutations and scans for property tests of stores
    purity        whether a call asks for clocks or chance, and is the same in every process
    events        events for tests
    shares        the events of a share through a decorator

Needs pytest, and for stores hypothesis: `pip install 'attr2hbase[testing]'`.
"""

import pytest

# a suite that is inherited tells as much of what differs as one that stands in a test file
pytest.register_assert_rewrite("ingest.testing.decorators", "ingest.testing.stores", "ingest.testing.tables")
