"""Compaction and rollback of deferred updates, and the sweep of body stores."""
