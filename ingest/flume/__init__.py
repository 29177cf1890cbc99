"""
Imports Flume configurations as pipeline files.

- `og` translates the data-flow text of Flume 0.9 ("original generation"), `ng` the properties files of Flume 1 ("next
  generation").
- `patterns` and `escapes` translate regular expressions and escape sequences, which both have.
- `original` is the imported text, with places and problems.
- `pipelines` writes the pipeline file, and the report with the outcome for each part of the original.
- `importing` combines them and checks the result.
"""

from ingest.flume.importing import import_flume, tree_of
from ingest.flume.ng.properties import is_properties
from ingest.flume.og.tree import plain
from ingest.flume.pipelines.report import Entry, Imported, Outcome

__all__ = ["Entry", "Imported", "Outcome", "import_flume", "is_properties", "plain", "tree_of"]
