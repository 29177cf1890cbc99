"""
Bulk load of tables: rows of a backlog as files, in place of calls.

`feature` is the table feature, with its `options` and `checks`; the driver says whether the pipeline is behind.
`loading` is around the connection of a task to the store, and `modes` decides which regions get files. The store makes
and loads them (`ingest.api.bulk_load`).
"""

from ingest.api.feature_surface import FeatureSurface

SURFACE = FeatureSurface(metrics="sinks.bulk_load.metrics:METRICS")
