"""
Old Flume configurations as pipeline files.

The parts of the room: `og` reads the data-flow text of Flume 0.9 and `ng` the properties files of Flume 1; each says
what stands for what in our words. `pipelines` is our side: the file that is written, and the report of what became of
each part. `original` is the text that is imported, with places and problems; `patterns` and `escapes` put into our
words what both of Flume's languages have. `importing` joins them and checks what was made.
"""

from ingest.flume.importing import import_flume, tree_of
from ingest.flume.ng.properties import is_properties
from ingest.flume.og.tree import plain
from ingest.flume.pipelines.report import Entry, Imported, Outcome

__all__ = ["Entry", "Imported", "Outcome", "import_flume", "is_properties", "plain", "tree_of"]
