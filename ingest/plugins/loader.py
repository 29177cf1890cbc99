"""
Finds and imports plugins.

A plugin is an installed package with entry points, or a module named under `plugins`: a file `NAME.py` in the folder of
the pipeline file that names it, else an installed module. The folder is not added to `sys.path`, so no other file in it
can shadow a library.
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
from ingest.api.errors import PackageMissingError
from ingest.plugins.guard import FATAL, describe_exception


class ImportFailedError(CatalogError):
    """The code of a component or plugin cannot be imported."""

    code = "import_failed"
    remedy = "Install the missing package, or correct the plugin."


class NameTakenError(CatalogError):
    """Two components, or two modules, have the same name; the message lists both."""

    code = "name_taken"
    remedy = "Rename or uninstall one of the two."


@dataclass(frozen=True, slots=True)
class Plugin:
    """A module named under `plugins`, and the folder of the file that names it, if a file does."""

    module: str
    folder: Path | None = None


@dataclass(frozen=True, slots=True)
class PluginFile:
    """A module in one file beside a pipeline file; the plan carries its source text to the workers."""

    module: str
    path: str
    source: bytes

    def load(self) -> ModuleType:
        """
        Import the module; if this process has imported the same text, return that module.

        Raises:
            CatalogError: it cannot be imported.
        """
        known = sys.modules.get(self.module)
        loader = _source_loader(known)
        if known is not None and loader is not None and loader.file == self:
            return known
        spec = spec_from_file_location(self.module, self.path, loader=_SourceLoader(self))
        assert spec is not None  # noqa: S101 - for mypy: there is always a spec where there is a loader
        assert spec.loader is not None  # noqa: S101 - as above
        module = module_from_spec(spec)
        sys.modules[self.module] = module
        try:
            spec.loader.exec_module(module)
        except BaseException as error:
            del sys.modules[self.module]
            if isinstance(error, FATAL):
                raise
            raise _import_error(self.module, error) from error
        return module


class _SourceLoader(ExecutionLoader):
    """Loads a module from source text in memory; the file need not exist."""

    def __init__(self, file: PluginFile) -> None:
        self.file = file

    def get_filename(self, fullname: str) -> str:  # noqa: ARG002 - it loads one module
        return self.file.path

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - as above
        return decode_source(self.file.source)


def file_of(plugin: Plugin) -> PluginFile | None:
    """
    The file of a plugin beside the pipeline file; None if it is an installed module.

    Raises:
        CatalogError: the name is not a module name, the file cannot be read, or another module has this name.
    """
    name = plugin.module
    parts = name.split(".")
    if not all(part.isidentifier() and not keyword.iskeyword(part) for part in parts):
        raise ImportFailedError(
            f'"{name}" is not a module name',
            hint='for the file "steps.py" beside this one, write steps',
        )
    if plugin.folder is None or len(parts) > 1:
        return None
    path = (plugin.folder / f"{name}.py").absolute()
    if not path.is_file():
        return None
    other = _origin_of(name)
    if other is not None and not (Path(other).exists() and path.samefile(other)):
        raise NameTakenError(
            f'"{path}" has the name of another module: "{name}" of {other}',
            hint="give the file another name",
        )
    try:
        return PluginFile(name, str(path), path.read_bytes())
    except OSError as error:
        raise ImportFailedError(f'cannot read "{path}": {error.strerror}') from error


def import_plugin(module: str) -> Any:
    """
    Import an installed module.

    Raises:
        CatalogError: it does not exist or its import fails; the message names the line.
    """
    try:
        return import_module(module)
    except FATAL:
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
        raise ImportFailedError(f'there is no class "{name}" in "{module}"')
    return found


def _source_loader(module: ModuleType | None) -> _SourceLoader | None:
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    return loader if isinstance(loader, _SourceLoader) else None


def _origin_of(name: str) -> str | None:
    """The location of a module of this name that is not a plugin file; None if there is none."""
    known = sys.modules.get(name)
    if _source_loader(known) is not None:
        return None
    try:
        spec = find_spec(name)
    except ValueError:  # a module created at run time has no spec
        return getattr(known, "__file__", None) or "this process"
    return None if spec is None else spec.origin or "a folder without code"


def _import_error(module: str, error: BaseException) -> CatalogError:
    if isinstance(error, ModuleNotFoundError):
        missing = error.name or module
        if module == missing or module.startswith(f"{missing}."):
            return ImportFailedError(
                f'there is no module "{module}"',
                hint="install the package that contains it, or put its file beside the pipeline file",
            )
        return PackageMissingError(
            f'"{module}" needs the module "{missing}"',
            hint=f'install the package that contains "{missing}"',
        )
    return ImportFailedError(f'"{module}" cannot be imported: {describe_exception(error, module)}')
