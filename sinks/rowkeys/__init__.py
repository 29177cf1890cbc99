"""Row keys without a store: which of them a scan can skip."""
