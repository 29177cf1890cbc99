"""
Entry script of spark-submit: `spark-submit … attr2hbase_submit.py pipeline.yaml [options of attr2hbase run]`.

spark-submit puts the script's folder first on the module path, where modules would shadow libraries of the same name:
the folder has no others but the registration of the data source.
"""

import sys

from ingest.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
