"""Syntax tree of templates and conditions; `written` turns a node back into source text."""

from dataclasses import dataclass, field

from ingest.expressions.grammar import is_name, is_number, quoted


@dataclass(frozen=True, slots=True)
class Text:
    """Constant text: between the tags of a template, or quoted."""

    text: str
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As a quoted literal."""
        return quoted(self.text)


@dataclass(frozen=True, slots=True)
class Number:
    """A number, as written."""

    text: str
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As an argument."""
        return self.text


@dataclass(frozen=True, slots=True)
class Core:
    """A part of the event itself, by its core name."""

    name: str
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As an argument."""
        return self.name


@dataclass(frozen=True, slots=True)
class Attribute:
    """An attribute; `quoted` if it is written in quotes, which exclude core names."""

    name: str
    quoted: bool = False
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As an argument."""
        bare = not self.quoted and is_name(self.name) and not is_number(self.name)
        return self.name if bare else self.tag()

    def tag(self) -> str:
        """As a tag."""
        return "%{" + (quoted(self.name) if self.quoted else self.name) + "}"


@dataclass(frozen=True, slots=True)
class DateLetter:
    """A percent sign and a date letter."""

    letter: str
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As part of a template; it cannot be an argument."""
        return "%" + self.letter


@dataclass(frozen=True, slots=True)
class Call:
    """
    A function with its arguments.

    Attributes:
        sign: the operator, if it is written with one.
    """

    name: str
    arguments: tuple["Node", ...]
    column: int = field(default=1, compare=False)
    sign: str = ""

    @property
    def shown(self) -> str:
        """Its name in messages."""
        return f'"{self.sign}"' if self.sign else self.name

    def written(self) -> str:
        """As an argument."""
        if self.sign:
            return f" {self.sign} ".join(map(_operand, self.arguments))
        return f"{self.name}({', '.join(argument.written() for argument in self.arguments)})"


@dataclass(frozen=True, slots=True)
class Choice:
    """The function `if`: one of two arguments, by a condition."""

    condition: "Clause"
    then: "Node"
    otherwise: "Node"
    column: int = field(default=1, compare=False)

    def written(self) -> str:
        """As an argument; a condition is not written back."""
        return f"if(…, {self.then.written()}, {self.otherwise.written()})"


def _operand(node: "Node") -> str:
    """As an operand: with parentheses around arithmetic, and braces around a name."""
    match node:
        case Call(sign=sign) if sign:
            return f"({node.written()})"
        case Attribute():
            return node.tag()
        case _:
            return node.written()


Node = Text | Number | Core | Attribute | DateLetter | Call | Choice


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two operands and the operator that compares them."""

    operator: str
    left: Node
    right: Node


@dataclass(frozen=True, slots=True)
class Membership:
    """An operand that must be one of several constants."""

    left: Node
    items: tuple[Text | Number, ...]


@dataclass(frozen=True, slots=True)
class Match:
    """An operand in which a pattern must be found."""

    left: Node
    pattern: Text


@dataclass(frozen=True, slots=True)
class Exists:
    """A value that must exist."""

    node: Node


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that must be false."""

    condition: "Clause"


@dataclass(frozen=True, slots=True)
class And:
    """Conditions that must all be true."""

    conditions: tuple["Clause", ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Conditions of which at least one must be true."""

    conditions: tuple["Clause", ...]


Clause = Comparison | Membership | Match | Exists | Not | And | Or
