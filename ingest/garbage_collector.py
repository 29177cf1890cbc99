"""Python's garbage collector in processes that handle many events or rows."""

import atexit
import gc


def collect_rarely() -> None:
    """
    Collect after 50,000 new objects, and never look at those that exist now.

    Events and rows leave no reference cycles. By default a collection runs after 700 new objects, which takes a tenth
    of the time of a task, and a third of that of a scan, whose pages are objects that live on. The middle
    generation is collected after 20 such collections, the oldest one after 400; by default after 10 and 100.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def collect_nothing_at_exit() -> None:
    """
    Leave all objects of this process to the system as it ends.

    Python collects garbage three times at its end, among all objects of all modules: a fifth of the CPU time of a short
    command. Files, stores and connections are closed before, by their blocks.
    """
    atexit.register(gc.freeze)
