"""
`${VAR}`, `${VAR:default}`, `${VAR:?message}`, `${secret:name}` and `$${` inside scalars.

They are expanded after parsing, so a value cannot change the structure of a file. Keys are not expanded. A variable
that is set to empty text counts as set.

The type of an unquoted scalar is resolved after expansion, so `${PORT}` may be a number. A quoted one is text, but is
converted if its option requires a number or a boolean, because YAML requires the quotes inside { } and [ ]. A scalar
with a secret is always text.
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ingest.config.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ingest.config.problems import Kind, Place, Problem
from ingest.config.scalars import resolve
from ingest.masks import Masks
from ingest.suggest import did_you_mean

_TOKEN = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<rest>:.*)?", re.DOTALL)
_SECRET = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")  # also a safe file name
_MAX_SECRET_BYTES = 64 * 1024  # private keys have some KiB
_EXEC_TIMEOUT_S = 30.0  # the command of a vault takes a second or two


class UndefinedSecretError(Exception):
    """The secret does not exist or cannot be read; the message never contains its content."""


class NoSecrets:
    """The source of secrets when none is configured."""

    def read(self, name: str) -> str:
        """Always raises UndefinedSecretError."""
        raise UndefinedSecretError(
            f'secret "{name}" cannot be read: no source of secrets is configured; '
            "add secrets: {directory: PATH} or {exec: [COMMAND]}"
        )


class SecretDirectory:
    """Secrets as files of a directory, one for each; one trailing newline is removed."""

    def __init__(self, directory: str) -> None:
        self._directory = Path(directory)

    def read(self, name: str) -> str:
        """The content of the file of that name."""
        try:
            with (self._directory / name).open("rb") as file:
                return _as_secret(file.read(_MAX_SECRET_BYTES + 1), name)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "invalid path"
            raise UndefinedSecretError(f'secret "{name}" cannot be read from "{self._directory}": {reason}') from error


class SecretCommand:
    """Secrets from a command that prints them to stdout; the name of the secret is appended as its last argument."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)

    def read(self, name: str) -> str:
        """The output of the command; its stderr is discarded, because it may contain secrets."""
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, without a shell
                [*self._command, name],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_EXEC_TIMEOUT_S,
                check=False,
            )
        except (OSError, ValueError) as error:
            raise UndefinedSecretError(f'secret "{name}": "{self._command[0]}" could not be started') from error
        except subprocess.TimeoutExpired as error:
            raise UndefinedSecretError(
                f'secret "{name}": "{self._command[0]}" took longer than {_EXEC_TIMEOUT_S:.0f} s'
            ) from error
        if done.returncode:
            raise UndefinedSecretError(f'secret "{name}": "{self._command[0]}" exited with {done.returncode}')
        return _as_secret(done.stdout, name)


def _as_secret(content: bytes, name: str) -> str:
    if len(content) > _MAX_SECRET_BYTES:
        raise UndefinedSecretError(f'secret "{name}" is larger than {_MAX_SECRET_BYTES} bytes')
    try:
        text = content.decode()
    except UnicodeDecodeError:
        raise UndefinedSecretError(f'secret "{name}" is not UTF-8 text') from None  # the cause contains the bytes
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise UndefinedSecretError(f'secret "{name}" is empty')
    return text


SecretSource = NoSecrets | SecretDirectory | SecretCommand


class Expander:
    """
    Expands variables and secrets in nodes; each secret is read once and masked from then on.

    Attributes:
        unknown: places of scalars that could not be expanded; they are not checked further.
    """

    def __init__(self, env: Mapping[str, str], secrets: SecretSource, masks: Masks, problems: list[Problem]) -> None:
        self._env = env
        self._source = secrets
        self._masks = masks
        self._problems = problems
        self._secrets: dict[str, str] = {}
        self.unknown: set[Place] = set()

    def expand(self, node: Node) -> Node:
        """The node with every scalar expanded."""
        match node:
            case ScalarNode():
                return self._scalar(node) if "${" in node.text and not node.expanded else node
            case SequenceNode():
                return SequenceNode(node.place, [self.expand(item) for item in node.items])
            case MappingNode():
                entries = {key: self.expand(value) for key, value in node.entries.items()}
                return MappingNode(node.place, entries, node.keys)

    def _scalar(self, node: ScalarNode) -> ScalarNode:
        parts = []
        end = 0
        secret = expanded = False
        for token in _TOKEN.finditer(node.text):
            parts.append(node.text[end : token.start()])
            end = token.end()
            inside = token["inside"]
            if token[0] == "$${":
                parts.append("${")
            elif inside is None:
                self._problem(node, token, Kind.BAD_EXPRESSION, '"${" is not closed', "write $${ for a literal ${")
            else:
                expanded = True
                value, is_secret = self._value(node, token, inside)
                secret |= is_secret
                parts.append(value)
        text = "".join([*parts, node.text[end:]])
        is_text = node.quoted or secret or not expanded
        return ScalarNode(node.place, text, text if is_text else resolve(text), None, is_text, expanded, secret)

    def _value(self, node: ScalarNode, token: re.Match[str], inside: str) -> tuple[str, bool]:
        match = _VARIABLE.fullmatch(inside)
        if match is None:
            self._problem(
                node,
                token,
                Kind.BAD_EXPRESSION,
                f'"${{{inside}}}" is neither a variable nor a secret',
                "write $${ for a literal ${",
            )
            return "", False
        name, rest = match["name"], match["rest"]
        if name == "secret":
            return self._secret(node, token, (rest or ":")[1:]), True
        value = self._env.get(name)
        if value is not None:
            return value, False
        if rest is not None and not rest.startswith(":?"):
            return rest[1:], False
        message = f"variable {name} is not set"
        if rest is not None and rest[2:].strip():
            message += f": {rest[2:].strip()}"
        hint = f"set it, or write ${{{name}:DEFAULT}}"
        if similar := did_you_mean(name, self._env):  # the similar one may be of something else
            hint = f"{similar} Else {hint}"
        if name != name.upper():  # environment variables are rarely in lower case, attributes often are
            hint += f"; the attribute {name} of an event is %{{{name}}}"
        self._problem(node, token, Kind.UNDEFINED_VARIABLE, message, hint)
        return "", False

    def _secret(self, node: ScalarNode, token: re.Match[str], name: str) -> str:
        if not _SECRET.fullmatch(name):
            self._problem(
                node,
                token,
                Kind.BAD_EXPRESSION,
                f'"{name}" is not the name of a secret',
                "write ${secret:NAME} with only letters, digits, _, - and .",
            )
            return ""
        if name not in self._secrets:
            try:
                self._secrets[name] = self._source.read(name)
            except UndefinedSecretError as error:
                self._problem(node, token, Kind.UNDEFINED_SECRET, str(error))
                return ""
            self._masks.add(self._secrets[name])
        return self._secrets[name]

    def _problem(self, node: ScalarNode, token: re.Match[str], kind: Kind, message: str, hint: str = "") -> None:
        self._problems.append(Problem(kind, node.at(token.start() + 1), message, hint))
        self.unknown.add(node.place)
