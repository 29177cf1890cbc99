"""The memory of Spark's driver JVM."""

from ingest.observe.results import JvmMemory
from ingest.spark.errors import JVM_GONE
from ingest.spark.streaming.reading import Session


def jvm_memory(session: Session) -> JvmMemory | None:
    """The heap and the garbage collections; None if the JVM has ended. Waits while the JVM does not answer."""
    try:
        jvm = session.sparkContext._jvm  # noqa: SLF001 - the only way to the JVM's own beans
        if jvm is None:
            return None
        beans = jvm.java.lang.management.ManagementFactory
        heap = beans.getMemoryMXBean().getHeapMemoryUsage()
        collections_ms = sum(max(0, bean.getCollectionTime()) for bean in beans.getGarbageCollectorMXBeans())
        return JvmMemory(heap.getUsed(), heap.getMax(), collections_ms / 1000)
    except JVM_GONE:
        return None
