"""
Entry script of spark-submit: `spark-submit … attr2hbase_submit.py pipeline.yaml [options of ingest run]`.

It is the only file of its folder: spark-submit puts the script's folder first on the module path, where other modules
would shadow libraries of the same name.
"""

import sys

from ingest.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
