"""The check of a blob store: all blobs are read and compared with their ids."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from ingest.amounts import counted
from ingest.api import IntegrityError, Model, option
from ingest.service.dead_letters.references import DeadLetterReferences
from ingest.service.jobs.command import JobCommand, Summary
from ingest.service.jobs.job import Steps
from ingest.service.jobs.job_run import Progress
from ingest.service.jobs.place import Place
from ingest.service.rewriting.blobs_job import BlobsJob
from sinks.blobs.checking import Finding


class BlobCheckOptions(Model):
    """Whether a check repairs what it can."""

    repair: bool = option(
        "Delete orphaned blocks, dangling references of cells without a pointer, and unneeded references.",
        default=False,
    )


def _shown(found: Mapping[str, Any]) -> str:
    block = "" if found["block"] is None else f" block {found['block']}"
    return f"{found['blob']}{block}: {found['kind'].replace('_', ' ')}: {found['detail']}"


class BlobCheck(BlobsJob[BlobCheckOptions]):
    """
    Checks the blob store of a table. It may be killed at any moment, and run again.

    Args:
        subject: name of the table.
        options: whether it repairs.
    """

    kind = "blob-check"
    options_model = BlobCheckOptions
    command = JobCommand(
        help="""
        Read all blobs and compare them with their ids; list damaged and orphaned blocks, and references to remove.

        Exit code 5 if a blob is damaged. Orphaned blocks belong to no blob; they, and dangling and unneeded
        references, only take space. A reference is unneeded if its dead letter was replayed, deleted or never
        published; --repair leaves those of running pipelines. It is unknown, and --repair leaves it, if its dead letter
        may wait in another state_dir: this one has no dead letter and no micro-batch of its time. Remove it with
        'attr2hbase blob unpin' if it waits nowhere.

        If the service runs, it reads them beside its pipelines; interrupting the command (Ctrl-C) cancels it.

        Example: attr2hbase admin blob check events
        """,
        advances=("blobs", "blobs"),
        does="reads the blobs",
        resumes="run the same command again",
        prints="findings",
        shows=_shown,
    )

    def steps(self, place: Place) -> Steps:
        """
        Read the blobs; the details are the `findings`.

        Raises:
            ConflictError: it was cancelled.
            IntegrityError: a status, or a file of the dead letters, cannot be read.
            IngestError: as `BlobsJob.blobs`.
        """
        counts = Counter(dict.fromkeys(("blobs", "blocks", "damaged", "others"), 0))
        blobs, is_repair = self.blobs(place, is_written=self.options.repair), self.options.repair
        with DeadLetterReferences(place.configuration, is_repair=is_repair) as dead_letters:
            yield Progress(result=counts, details={"findings": []})
            for found in place.paced(blobs.checked(dead_letters, is_repair=is_repair), activity=self.kind):
                if isinstance(found, Finding):
                    counts["damaged" if found.kind.is_damage else "others"] += 1
                    details = {"findings": [found._asdict() | {"blob": found.blob.hex()}]}
                    yield Progress(counts["blobs"], result={**counts}, details=details)
                elif found is not None:
                    counts.update(blobs=1, blocks=found)
                    yield Progress(counts["blobs"], result={**counts})
            result = {**counts, "earlier_topics": dead_letters.earlier_topics}
        yield Progress(counts["blobs"], counts["blobs"], result)

    def summary(self, content: Mapping[str, Any], *, is_dry_run: bool) -> Summary:  # noqa: ARG002 - there is none
        """How many blobs were read, and what is damaged."""
        notes = []
        for name, topics in content["earlier_topics"].items():
            shown = ", ".join(f'"{topic}"' for topic in topics)
            notes += [
                f'the references of pipeline "{name}" stay: dead letters may wait in its earlier topic {shown}',
                f'once they are replayed, remove the topic from "dead-letters/{name}/topics" in `state_dir`',
            ]
        read = f"{counted(content['blobs'], 'blob')} and {counted(content['blocks'], 'block')} read"
        others = counted(content["others"], "other finding")
        if not content["damaged"]:
            return Summary(content, notes=notes, done=f"{read}: no blob is damaged; {others}")
        notes.append(f"{read}: {counted(content['damaged'], 'finding')} of damage; {others}")
        return Summary(content, notes=notes, exit_code=IntegrityError.exit_code)
