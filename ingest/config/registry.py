"""Checks that decorators which need a registry of schemas have one."""

from ingest.config.components import Binding
from ingest.config.partial import PartialConfig
from ingest.config.problems import Kind


def check_registry(partial_config: PartialConfig, binding: Binding) -> None:
    """Report decorators that read schemas of a registry while the file has none, and a registry without a use."""
    using = [
        decorator
        for pipeline in partial_config.pipelines.values()
        for decorator in pipeline.decorators
        if decorator.settings.uses_registry
    ]
    if partial_config.registry_place is None:
        for decorator in using:
            binding.problem(
                Kind.MISSING_FIELD,
                decorator.location,
                f"{decorator.kind} has no schema, and the file has no registry",
                "write registry: {url: https://HOST:PORT} at the top of the file, or give it a schema",
            )
    elif not using and partial_config.registry is not None:
        binding.warning(
            Kind.UNUSED,
            partial_config.registry_place,
            "no decorator uses the registry",
            "`header: confluent` of `avro` or `protobuf` without a schema does",
        )
