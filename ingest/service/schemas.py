"""The schemas of the registry, on the driver."""

from ingest.api import Committer
from ingest.api.schemas import WriterSchema
from ingest.config.model import Configuration
from ingest.observe.logs import logger
from ingest.plan.plan import Plan
from ingest.registry.cache import SchemaCache
from ingest.registry.client import RegistryClient
from ingest.registry.looking_up import CachedSource, NoSource, SchemaLookup
from ingest.registry.message import SCHEMAS
from ingest.spark.state import state_of

_log = logger(__name__)


def schema_committers(configuration: Configuration, plan: Plan) -> dict[str, Committer]:
    """What looks up the schemas that the tasks of a pipeline request, by destination; empty if it needs none."""
    registry = configuration.registry
    if registry is None or not plan.uses_registry:
        return {}
    if registry.url is None:
        return {SCHEMAS: SchemaLookup(registry.declared, NoSource())}
    cache = SchemaCache(state_of(configuration), registry.url)

    def log(schema: WriterSchema) -> None:
        _log.info("a schema of the registry was looked up", pipeline=plan.pipeline, id=schema.id, type=schema.type)

    return {SCHEMAS: SchemaLookup(registry.declared, CachedSource(cache, RegistryClient(registry), log))}
