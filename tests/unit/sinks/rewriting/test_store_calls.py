"""Access to a store for several threads."""

import threading

from sinks.rewriting.store_calls import one_at_a_time
from tests.support.updated_table import UpdateWriter


def test_store_is_used_by_one_thread_at_a_time():
    access = one_at_a_time(UpdateWriter().store)
    with access():
        waiting = threading.Thread(target=lambda: access().__enter__(), daemon=True)
        waiting.start()
        waiting.join(0.05)
        assert waiting.is_alive()
    waiting.join(10)
    assert not waiting.is_alive()
