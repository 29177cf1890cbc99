"""NOTICE: the software that a release uses, and its licences."""

from deploy.release.contents import Contents

_HEAD = """attr2hbase {version}

Licensed under the Apache License, Version 2.0: see the file LICENSE.

attr2hbase uses the packages and jars below. Its own wheel contains none of them: pip installs the packages, and
`attr2hbase jars fetch` copies the jars. Each contains its licence text and its notices. PySpark contains Apache Spark
and the jars that Spark uses; their licences are in its folder pyspark/licenses.
"""


def notice_of(release: Contents) -> str:
    """The text of the file."""
    packages = [(f"{package.name} {package.version}", release.licences[package.purl]) for package in release.packages]
    jars = [(f"{jar.group}:{jar.artifact}:{jar.version}", release.licences[jar.purl]) for jar in release.jars]
    head = _HEAD.format(version=release.version)
    return f"{head}\nPython packages\n\n{_table(packages)}\nJars\n\n{_table(jars)}"


def _table(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "".join(f"  {name:<{width}}  {licence}\n" for name, licence in rows)
