"""Compaction and rollback of deferred updates, and the sweep of blob stores."""
