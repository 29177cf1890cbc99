"""Which pipelines differ between two configurations."""

from ingest.config.model import Configuration, Pipeline


def is_changed(name: str, old: Configuration, new: Configuration) -> bool:
    """Whether anything that a pipeline uses differs, also the value of a secret; a description does not count."""
    return _used(old, old.pipelines[name]) != _used(new, new.pipelines[name])


def _used(configuration: Configuration, pipeline: Pipeline) -> list[object]:
    components = (pipeline.source, *pipeline.decorators, *pipeline.sinks, pipeline.dead_letters)
    stores = {name for each in pipeline.sinks if (name := each.settings.store_name) is not None}
    return [
        pipeline.fingerprint,
        pipeline.trigger_every_s,
        pipeline.max_rate,
        pipeline.replay,
        pipeline.error_budget,
        [(each.kind, each.settings) for each in components],
        [(name, configuration.stores[name].settings) for name in sorted(stores & configuration.stores.keys())],
    ]
