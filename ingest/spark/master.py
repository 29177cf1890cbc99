"""The Spark master of a file that names none."""

DEFAULT_MASTER = "local[*,4]"  # a task may fail 4 times; with local[*] one killed worker process fails the job
