"""The one pipeline that owns a table with features: its claim, its committed positions, former owners."""
