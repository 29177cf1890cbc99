"""
Old Flume configurations as pipeline files.

The way through the room: `lexer` and `parser` make a `tree` of data-flow text, `dataflow` translates it with the help
of `decorators`, `sinks`, `arguments`, `escapes` and `patterns`; `properties` reads the files of Flume 1, which `ng`
translates with `interceptors` and `serializers`; both make a `document`, which is checked by `importing` and comes
with a `report`.
"""

from ingest.flume.importing import import_flume, is_properties, tree_of
from ingest.flume.report import Entry, Imported, Outcome
from ingest.flume.tree import plain

__all__ = ["Entry", "Imported", "Outcome", "import_flume", "is_properties", "plain", "tree_of"]
