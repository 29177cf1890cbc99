"""
Python imports this module at its start when its folder is on PYTHONPATH: in the driver, and in each worker of Spark,
which inherits the path. So a mutant reaches all processes, and the product has no code for it.
"""

import os

if "LEDGER_MUTANT" in os.environ:
    from tests.support.ledger.mutants.catalogue import install

    install(os.environ["LEDGER_MUTANT"])
