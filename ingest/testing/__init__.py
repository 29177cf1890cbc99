"""
The test kit, for this product and for plugins.

    stores    StoreContract: what every store must do; a new store subclasses it with a StoreFixture of its own

Needs pytest and hypothesis, which a plain installation does not bring.
"""
