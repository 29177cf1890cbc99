"""
The test kit, for this product and for plugins.

    stores        StoreContract: what every store must do; a new store subclasses it with a StoreFixture of its own
    cells         rows, mutations and scans for property tests of stores
    decorators    what every decorator must do
    events        events for tests
    shares        the events of a share through a decorator

Needs pytest and hypothesis, which a plain installation does not bring.
"""
