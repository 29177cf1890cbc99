"""Makes descriptors of the protobuf schemas of a registry."""

import binascii
import importlib.util
import subprocess
import sys
from base64 import b64decode
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory

from google.protobuf import (
    any_pb2,
    api_pb2,
    descriptor_pb2,
    duration_pb2,
    empty_pb2,
    field_mask_pb2,
    source_context_pb2,
    struct_pb2,
    timestamp_pb2,
    type_pb2,
    wrappers_pb2,
)
from google.protobuf.message import DecodeError

from ingest.api.errors import PackageMissingError

_TIMEOUT_S = 30.0
_MAX_REASON = 300  # characters of protoc's message
_INSTALL = "install the extra: pip install 'attr2hbase[protoc]'"
_WELL_KNOWN = (
    *(any_pb2, api_pb2, descriptor_pb2, duration_pb2, empty_pb2, field_mask_pb2, source_context_pb2, struct_pb2),
    *(timestamp_pb2, type_pb2, wrappers_pb2),
)

# files that Confluent's registry and serializers have built in, so no schema references them
_CONFLUENT = {
    "confluent/meta.proto": """syntax = "proto3";
package confluent;
import "google/protobuf/descriptor.proto";
message Meta { string doc = 1; map<string, string> params = 2; repeated string tags = 3; }
extend google.protobuf.FileOptions { Meta file_meta = 1088; }
extend google.protobuf.MessageOptions { Meta message_meta = 1088; }
extend google.protobuf.FieldOptions { Meta field_meta = 1088; }
extend google.protobuf.EnumOptions { Meta enum_meta = 1088; }
extend google.protobuf.EnumValueOptions { Meta enum_value_meta = 1088; }
""",
    "confluent/type/decimal.proto": """syntax = "proto3";
package confluent.type;
message Decimal { bytes value = 1; uint32 precision = 2; int32 scale = 3; }
""",
}


def descriptors(name: str, text: bytes, references: Mapping[str, bytes]) -> bytes:
    """
    A serialized FileDescriptorSet of a schema, with all files that it imports; that of the schema is the last one.

    Args:
        name: of its file.
        text: of the file, or its serialized FileDescriptorProto in base64, as a registry answers.
        references: the name with which a file is imported -> the same of that file.

    Raises:
        ValueError: it is no such schema, or imports a file that is not among the references.
        PackageMissingError: the registry has only texts, and the compiler is not installed.
    """
    serialized = {each: _serialized(content) for each, content in references.items()}
    root = _serialized(text)
    if root is None or None in serialized.values():
        return _compiled(name, text, references)
    root.name = name
    files: dict[str, descriptor_pb2.FileDescriptorProto] = {}
    for each, file in serialized.items():
        assert file is not None  # noqa: S101 - checked above
        file.name = each
        files[each] = file
    found = descriptor_pb2.FileDescriptorSet()
    found.file.extend(_in_order(root, files, set()))
    return found.SerializeToString()


def _serialized(content: bytes) -> descriptor_pb2.FileDescriptorProto | None:
    """The file in base64; None if the content is a text."""
    try:
        return descriptor_pb2.FileDescriptorProto.FromString(b64decode(content, validate=True))
    except (binascii.Error, DecodeError):
        return None


def _in_order(
    file: descriptor_pb2.FileDescriptorProto, files: dict[str, descriptor_pb2.FileDescriptorProto], done: set[str]
) -> Iterator[descriptor_pb2.FileDescriptorProto]:
    """A file after those that it imports."""
    if file.name in done:
        return
    done.add(file.name)
    for dependency in file.dependency:
        imported = files.get(dependency) or _built_in(dependency)
        if imported is None:
            raise ValueError(f'it imports "{dependency}", which is not among its references')
        yield from _in_order(imported, files, done)
    yield file


def _built_in(name: str) -> descriptor_pb2.FileDescriptorProto | None:
    found = descriptor_pb2.FileDescriptorProto()
    for module in _WELL_KNOWN:
        if module.DESCRIPTOR.name == name:
            module.DESCRIPTOR.CopyToProto(found)
            return found
    if name not in _CONFLUENT:
        return None
    found.name, found.syntax = name, "proto3"
    found.package = name.rpartition("/")[0].replace("/", ".")
    if name == "confluent/type/decimal.proto":
        field = descriptor_pb2.FieldDescriptorProto
        message = found.message_type.add(name="Decimal")
        for number, (each, kind) in enumerate(
            (("value", field.TYPE_BYTES), ("precision", field.TYPE_UINT32), ("scale", field.TYPE_INT32)), start=1
        ):
            message.field.add(name=each, number=number, type=kind, label=field.LABEL_OPTIONAL)
    return found  # options are kept as unknown fields, so the file that only declares some may be empty


def _compiled(name: str, text: bytes, references: Mapping[str, bytes]) -> bytes:
    """
    The same from texts, by protoc, which the package grpcio-tools contains.

    It runs in a process of its own, since it reads what others have written.
    """
    if importlib.util.find_spec("grpc_tools") is None:
        raise PackageMissingError(
            "the registry has protobuf schemas as texts only, and the compiler of grpcio-tools is not installed",
            hint=_INSTALL,
        )
    with TemporaryDirectory(prefix="attr2hbase-protoc-") as folder:
        root, target = Path(folder) / "schemas", Path(folder) / "descriptors"
        for each, content in {**_built_in_texts(), **references, name: text}.items():
            path = PurePosixPath(each)
            if path.is_absolute() or ".." in path.parts or "\0" in each or not path.parts:
                raise ValueError(f'"{each}" is not the name of a file that can be imported')
            file = root / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        command = [sys.executable, "-m", "grpc_tools.protoc", f"-I{root}", "--include_imports"]
        try:
            done = subprocess.run(  # noqa: S603 - the compiler of a package; names are paths below the folder
                [*command, f"--descriptor_set_out={target}", name],
                capture_output=True,
                timeout=_TIMEOUT_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise ValueError(f"its compilation takes more than {_TIMEOUT_S:g} s") from error
        if done.returncode:
            reason = done.stderr.decode(errors="replace").replace(f"{root}/", "").strip()
            raise ValueError(" ".join(reason.split())[:_MAX_REASON] or f"protoc ended with {done.returncode}")
        return target.read_bytes()


def _built_in_texts() -> dict[str, bytes]:
    return {name: text.encode() for name, text in _CONFLUENT.items()}
