"""
Python imports this module at its start if its folder is on PYTHONPATH: in the driver, and in Spark's workers, which
inherit the path. So all processes become the mutant, without any code in the product.
"""

import os

if "LEDGER_MUTANT" in os.environ:
    from tests.support.ledger.mutants.catalogue import install

    install(os.environ["LEDGER_MUTANT"])
