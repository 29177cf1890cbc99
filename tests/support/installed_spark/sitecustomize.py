"""
Python imports this module at its start if its folder is on PYTHONPATH, in Spark's Python processes too.

Spark puts `pyspark.zip`, a copy of the installed package, before everything else. Python compiles a module of an
archive at each import: a process that lists or plans a data source takes 1.2 s of CPU, and 0.2 s without the archive.
"""

import sys

sys.path[:] = [path for path in sys.path if not path.endswith("/site-packages/pyspark/python/lib/pyspark.zip")]
