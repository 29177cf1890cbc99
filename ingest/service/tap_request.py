"""Requests to open a tap of a running pipeline."""

from typing import Self

from pydantic import ConfigDict

from ingest.api import ConfigError, Model, NotFoundError, option
from ingest.api.taps import Tap
from ingest.expressions import Condition, ExpressionSyntaxError
from ingest.observe.activity import Activity
from ingest.observe.taps import Taps
from ingest.receipt import ComponentType
from ingest.service.request import request_of


class TapRequest(Model):
    """
    A tap. In JSON: `{}`, or `{"at": "parse", "before": true, "where": "%{level} == 'error'"}`.

    Attributes:
        at: name of a decorator or sink; "" for the records that the source reads.
        before: events that reach the decorator, in place of those that it sends.
        failed: events that fail, in all components or in the one of `at`, which may be "source".
        where: condition of the events.
    """

    model_config = ConfigDict(extra="forbid")

    at: str = option("Name of a decorator or sink.", default="")
    before: bool = option("Events that reach the decorator.", default=False)
    failed: bool = option("Events that fail, with the error.", default=False)
    where: str | None = option("Condition of the events.", default=None)

    @classmethod
    def of(cls, content: bytes) -> Self:
        """
        A request from its JSON; without content it has the defaults.

        Raises:
            ConfigError: it is none.
        """
        return request_of(cls, content, 'send JSON as {"at": "parse"}')

    def open(self, taps: Taps, activity: Activity, pipeline: str) -> str:
        """
        Open the tap; returns its id.

        Args:
            taps: of the service.
            activity: knows the components of the pipeline.
            pipeline: its name.

        Raises:
            NotFoundError: the pipeline has no such decorator or sink.
            ConfigError: the condition is wrong, `at` means several components, or `before` is of no decorator.
            ConflictError: there are too many taps.
        """
        kinds = {each["name"]: each["type"] for each in activity.of(pipeline)["components"]}
        if not self.failed:
            kinds.pop(ComponentType.SOURCE.value, None)
        if self.at and self.at not in kinds:
            if several := [name for name in kinds if name.rpartition("#")[0] == self.at]:
                raise ConfigError(
                    f'pipeline "{pipeline}" has {len(several)} components "{self.at}"',
                    hint=f"name one: {', '.join(several)}",
                )
            raise NotFoundError(
                f'pipeline "{pipeline}" has no decorator or sink "{self.at}"', hint=f"it has {', '.join(kinds)}"
            )
        is_sink = kinds.get(self.at) == ComponentType.SINK
        if self.before and self.failed:
            raise ConfigError("events before a decorator have not failed in it", hint="leave `before` or `failed` out")
        if self.before and (is_sink or not self.at):
            raise ConfigError("only a decorator has events before it", hint="name a decorator, or leave `before` out")
        if self.where is not None:
            try:
                Condition.parse(self.where)
            except ExpressionSyntaxError as error:
                raise ConfigError(f'the condition "{self.where}" is wrong: {error}') from error
        return taps.open(pipeline, Tap("", self.at, is_sink, self.before, self.failed, self.where))
