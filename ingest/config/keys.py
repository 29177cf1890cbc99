"""The keys of a file and of a pipeline, and where a key belongs that is elsewhere."""

from ingest.config.options import PipelineOptions

TOP_KEYS = {
    "version": "Version of the file format: 1.",
    "include": "A file or a list of files to merge under this one: mappings merge, all else is replaced.",
    "plugins": "Modules with custom components, each a file NAME.py beside this one or installed; "
    "the only option that imports code.",
    "secrets": "Where `${secret:NAME}` is read from.",
    "state_dir": "Folder for checkpoints, dead letters and all other state of pipelines; default: ./data/state. "
    "A relative path starts at the current folder of the process, not at this file. A folder in HDFS, "
    "`hdfs://NAMENODE:PORT/FOLDER`, lets a driver on another machine resume.",
    "local_dir": "Folder on this machine for what a driver elsewhere does not need, such as the control token; only if "
    "`state_dir` is in HDFS; default: ./data/state.",
    "service": "The process: HTTP endpoint, log, shutdown, jobs.",
    "registry": "Registry with the schemas of `avro` and `protobuf` values.",
    "dump": "Dumps of tables: where, of which tables and when.",
    "spark": "Spark settings.",
    "stores": "Name -> store.",
    "tables": "Name -> desired definition of a table.",
    "chains": "Name -> list of decorators, used as `- chain: NAME`.",
    "pipelines": "Name -> pipeline.",
    "tests": "Input events and expected results; run by `attr2hbase test`.",
}
COMPONENT_KEYS = ("source", "decorators", "sinks", "dead_letters")
PIPELINE_KEYS = (*COMPONENT_KEYS, *PipelineOptions.model_fields)


def where_it_belongs(key: str) -> str:
    """A hint for a key in a wrong place: that it is one of the file or of a pipeline; "" for any other key."""
    if key in TOP_KEYS:
        return "it belongs to the top level of the file"
    return f"it belongs to a pipeline: `pipelines: {{NAME: {{{key}: …}}}}`" if key in PIPELINE_KEYS else ""
