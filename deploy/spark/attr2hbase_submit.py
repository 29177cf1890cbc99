"""
Entry script of spark-submit: `spark-submit … attr2hbase_submit.py pipeline.yaml [options of ingest run]`.

It stands alone in its folder, because spark-submit puts the folder of the script first on the path of modules, where
the product's own packages would hide libraries of the same name.
"""

import sys

from ingest.cli import main

if __name__ == "__main__":
    sys.exit(main(["run", *sys.argv[1:]]))
