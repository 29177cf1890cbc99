"""
Code that is not ours: how it is found and imported.

A plugin is an installed package with entry points, or a module named under `plugins`: a file `NAME.py` in the folder of
the pipeline file that names it, else a module that is installed. A file is imported by itself, and its folder does not
become a place for modules, so nothing else that lies there can stand in for a library.
"""

import keyword
import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.abc import ExecutionLoader
from importlib.util import decode_source, find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from ingest.api import CatalogError
from ingest.plugins.guard import PASSED_ON, describe_exception


@dataclass(frozen=True, slots=True)
class Plugin:
    """A module named under `plugins`, and the folder of the file that names it; None where no file does."""

    module: str
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A module that is one file beside a pipeline: its text goes to the workers with the plan."""

    module: str
    path: str
    source: bytes

    def load(self) -> ModuleType:
        """
        The module; one that was made of the same text before is the same.

        Raises:
            CatalogError: it cannot be imported.
        """
        known = sys.modules.get(self.module)
        loader = _text_loader(known)
        if known is not None and loader is not None and loader.file == self:
            return known
        spec = spec_from_file_location(self.module, self.path, loader=_TextLoader(self))
        assert spec is not None  # noqa: S101 - for mypy: there is always a spec where there is a loader
        assert spec.loader is not None  # noqa: S101 - as above
        module = module_from_spec(spec)
        sys.modules[self.module] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[self.module]
            if isinstance(error, PASSED_ON):
                raise
            raise _import_error(self.module, error) from error
        return module


class _TextLoader(ExecutionLoader):
    """Makes a module of text that is at hand, wherever its file is."""

    def __init__(self, file: PluginFile) -> None:
        self.file = file

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002 - a loader of one module
        return self.file.path

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - as above
        return decode_source(self.file.source)


def file_of(plugin: Plugin) -> PluginFile | None:
    """
    The file beside the pipeline that a plugin is; None when it is an installed module.

    Raises:
        CatalogError: it is no name of a module, cannot be read, or another module has this name.
    """
    name = plugin.module
    parts = name.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise CatalogError(
            f'"{name}" is no name of a module',
            code="import_failed",
            hint='for the file "steps.py" in the folder of this one, write steps',
        )
    if plugin.folder is None or len(parts) > 1:
        return None
    path = (plugin.folder / f"{name}.py").absolute()
    if not path.is_file():
        return None
    other = _origin_of(name)
    if other is not None and not (Path(other).exists() and path.samefile(other)):
        raise CatalogError(
            f'"{path}" has the name of another module: "{name}" of {other}',
            code="name_taken",
            hint="give the file another name",
        )
    try:
        return PluginFile(name, str(path), path.read_bytes())
    except OSError as error:
        raise CatalogError(f'cannot read "{path}": {error.strerror}', code="import_failed") from error


def import_plugin(module: str) -> Any:
    """
    An installed module.

    Raises:
        CatalogError: it is not there, or fails when it is imported; the message says where.
    """
    try:
        return import_module(module)
    except PASSED_ON:
        raise
    except BaseException as error:
        raise _import_error(module, error) from error


def class_at(path: str) -> type[Any]:
    """
    The class at `module:Class`.

    Raises:
        CatalogError: the module cannot be imported or has no such class.
    """
    module, _, name = path.partition(":")
    found: Any = import_plugin(module)
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type):
        raise CatalogError(f'there is no class "{name}" in "{module}"', code="import_failed")
    return found


def _text_loader(module: ModuleType | None) -> _TextLoader | None:
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader if isinstance(loader, _TextLoader) else None


def _origin_of(name: str) -> str | None:
    """Where a module of this name is that is no file beside a pipeline; None when there is none."""
    known = sys.modules.get(name)
    if _text_loader(known) is not None:
        return None
    try:
        spec = find_spec(name)
    except ValueError:  # one that was made by hand has no spec
        return getattr(known, "__file__", None) or "this process"
    return None if spec is None else spec.origin or "a folder without code"


def _import_error(module: str, error: BaseException) -> CatalogError:
    if isinstance(error, ModuleNotFoundError):
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            return CatalogError(
                f'there is no module "{module}"',
                code="import_failed",
                hint="install the package it is in, or write its file beside the pipeline file",
            )
        return CatalogError(
            f'"{module}" needs the module "{missing}"', code="package_missing", hint=f'install what "{missing}" is in'
        )
    return CatalogError(f'"{module}" cannot be imported: {describe_exception(error, module)}', code="import_failed")
