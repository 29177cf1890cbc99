"""
Parses Flume's data-flow language.

::

    file      = { node }
    node      = host ":" source "|" sink ";"
    host      = name | address
    source    = name [ args ]
    sink      = name [ args ] [ sink ]                   all but the last are decorators
              | "{" name [ args ] "=>" sink "}"
              | "[" sink { "," sink } "]"                fan-out
              | "<" sink { "?" sink } ">"                failover, two at least
              | ( "roll" | "collector" ) args "{" sink "}"
    args      = "(" [ arg { "," arg } { "," kw } | kw { "," kw } ] ")"
    kw        = name "=" arg                             only after positional ones
    arg       = literal | name [ args ]

A group ends a chain: nothing may follow it.
"""

from ingest.api import ConfigSyntaxError
from ingest.config import Kind
from ingest.flume.og.lexer import Comment, Token, TokenKind, tokens_of
from ingest.flume.og.tree import Argument, Call, Chain, Failover, FanOut, File, Node, Scope, Sink, Text
from ingest.flume.original import Original

_MAX_DEPTH = 120  # bounds the recursion
_FEWEST_OF_FAILOVER = 2


def parse(original: Original) -> tuple[Sink | File, list[Comment]]:
    """
    The syntax tree of a text, which is a sink or lines of nodes, and its comments.

    Raises:
        ConfigSyntaxError: it does not follow the grammar.
    """
    tokens, comments = tokens_of(original)
    return _Parser(original, tokens).tree(), comments


class _Parser:
    """A recursive-descent parser of a list of tokens; used once."""

    def __init__(self, original: Original, tokens: list[Token]) -> None:
        self._original = original
        self._tokens = tokens
        self._position = 0
        self._depth = 0

    def tree(self) -> Sink | File:
        """The whole tree."""
        first = self._peek()
        if first.kind is TokenKind.END:
            raise self._original.syntax_error(0, "the text is empty", "write a sink, or lines of nodes")
        if first.kind is TokenKind.ADDRESS or self._tokens[1][:2] == (TokenKind.SIGN, ":"):
            nodes = []
            while self._peek().kind is not TokenKind.END:
                nodes.append(self._node())
            return File(tuple(nodes))
        sink = self._sink()
        rest = self._peek()
        if rest.kind is not TokenKind.END:
            hint = "the line of a node starts with its host: `host : source | sink ;`" if rest.text == ";" else ""
            hint = hint or ("`let` was removed in Flume 0.9.3" if first.text == "let" else "")
            hint = hint or "nothing may follow a group in [ ], < > or { }"
            raise self._unexpected(rest, "the end: the sink before it is complete", hint)
        return sink

    def _node(self) -> Node:
        host = self._next()
        if host.kind not in (TokenKind.NAME, TokenKind.ADDRESS):
            raise self._unexpected(host, "the host of a node")
        self._expect(":", "after the host of a node")
        source = self._call("a source")
        self._expect("|", "between source and sink")
        sink = self._sink()
        self._expect(";", "at the end of a node's line")
        return Node(host.text, source, sink, host.at)

    def _sink(self) -> Sink:
        token = self._peek()
        self._depth += 1
        if self._depth > _MAX_DEPTH:
            raise self._original.syntax_error(token.at, f"nested deeper than {_MAX_DEPTH} levels", kind=Kind.TOO_LARGE)
        try:
            decorators: list[Call] = []
            while (token := self._peek()).kind is TokenKind.NAME:
                call = self._call("a decorator or a sink")
                if not self._begins_sink(self._peek()):
                    return _chained(decorators, call)
                decorators.append(call)
            return _chained(decorators, self._group(token))
        finally:
            self._depth -= 1

    def _group(self, token: Token) -> Sink:
        match token.text if token.kind in (TokenKind.SIGN, TokenKind.RESERVED) else "":
            case "{":
                return self._decorated()
            case "[":
                self._next()
                return FanOut(self._sinks(",", "]", "in a fan-out"), token.at)
            case "<":
                self._next()
                sinks = self._sinks("?", ">", "in a failover")
                if len(sinks) < _FEWEST_OF_FAILOVER:
                    raise self._original.syntax_error(
                        token.at, "a failover has two sinks", "write < primary ? backup >"
                    )
                return Failover(sinks, token.at)
            case "roll" | "collector":
                return self._scope()
            case _:
                raise self._unexpected(token, "a decorator or a sink")

    def _decorated(self) -> Sink:
        self._next()
        decorator = self._call("a decorator")
        arrow = self._next()
        if arrow.kind is not TokenKind.ARROW:
            hint = "write one decorator before it; a chain of several is written { a => { b => sink } }, or a b sink"
            raise self._unexpected(arrow, '"=>" after the decorator', hint)
        sink = self._sink()
        close = self._next()
        if close.text != "}":
            hint = "one decorator in each pair of braces: { a => { b => sink } }"
            raise self._unexpected(close, '"}"', hint if close.kind is TokenKind.ARROW else "")
        return _chained([decorator], sink)

    def _scope(self) -> Scope:
        word = self._next()
        if self._peek().text != "(" or self._peek().kind is not TokenKind.SIGN:
            raise self._unexpected(self._peek(), f'"(" after {word.text}', f"write {word.text}(…) {{ sink }}")
        args, kwargs = self._arguments()
        call = Call(word.text, args, kwargs, word.at, self._behind())
        self._expect("{", f"after {word.text}(…)", f"write its sink in braces: {word.text}(…) {{ sink }}")
        body = self._sink()
        self._expect("}", f"at the end of {word.text}")
        return Scope(call, body)

    def _sinks(self, separator: str, close: str, location: str) -> tuple[Sink, ...]:
        sinks = [self._sink()]
        while True:
            token = self._next()
            if token.kind is TokenKind.SIGN and token.text == close:
                return tuple(sinks)
            if token.kind is not TokenKind.SIGN or token.text != separator:
                raise self._unexpected(token, f'"{separator}" or "{close}" {location}')
            sinks.append(self._sink())

    def _call(self, what: str) -> Call:
        name = self._next()
        if name.kind is not TokenKind.NAME:
            hint = f'"{name.text}" is a reserved word' if name.kind is TokenKind.RESERVED else ""
            raise self._unexpected(name, what, hint)
        args, kwargs = self._arguments() if self._is_sign("(") else ((), {})
        return Call(name.text, args, kwargs, name.at, self._behind())

    def _arguments(self) -> tuple[tuple[Argument, ...], dict[str, Argument]]:
        self._next()  # the parenthesis
        args: list[Argument] = []
        kwargs: dict[str, Argument] = {}
        if self._is_sign(")"):
            self._next()
            return (), kwargs
        while True:
            token = self._peek()
            if token.kind is TokenKind.NAME and self._tokens[self._position + 1][:2] == (TokenKind.SIGN, "="):
                self._position += 2
                kwargs.pop(token.text, None)  # the last one of repeated keywords is used
                kwargs[token.text] = self._argument()
            elif kwargs:
                raise self._unexpected(token, "another `name=value`", "positional arguments must precede keywords")
            else:
                args.append(self._argument())
            token = self._next()
            if token.kind is TokenKind.SIGN and token.text == ")":
                return tuple(args), kwargs
            if token.kind is not TokenKind.SIGN or token.text != ",":
                raise self._unexpected(token, '"," or ")" after an argument')

    def _argument(self) -> Argument:
        token = self._peek()
        match token.kind:
            case TokenKind.STRING | TokenKind.NUMBER:
                self._next()
                return Text(token.text, token.at)
            case TokenKind.RESERVED if token.text in ("true", "false"):
                self._next()
                return Text(token.text, token.at)
            case TokenKind.NAME:
                self._depth += 1
                if self._depth > _MAX_DEPTH:
                    raise self._original.syntax_error(
                        token.at, f"nested deeper than {_MAX_DEPTH} levels", kind=Kind.TOO_LARGE
                    )
                call = self._call("an argument")
                self._depth -= 1
                return call
            case _:
                raise self._unexpected(token, "an argument")

    def _begins_sink(self, token: Token) -> bool:
        if token.kind is TokenKind.RESERVED:
            return True  # `true` and `false` are reported where they are parsed
        return token.kind is TokenKind.NAME or (token.kind is TokenKind.SIGN and token.text in "{[<")

    def _peek(self) -> Token:
        return self._tokens[self._position]

    def _next(self) -> Token:
        token = self._tokens[self._position]
        self._position = min(self._position + 1, len(self._tokens) - 1)
        return token

    def _behind(self) -> int:
        return self._tokens[self._position - 1].end

    def _is_sign(self, sign: str) -> bool:
        return self._peek()[:2] == (TokenKind.SIGN, sign)

    def _expect(self, sign: str, location: str, hint: str = "") -> None:
        token = self._next()
        if token.kind is not TokenKind.SIGN or token.text != sign:
            raise self._unexpected(token, f'"{sign}" {location}', hint)

    def _unexpected(self, token: Token, wanted: str, hint: str = "") -> ConfigSyntaxError:
        found = (
            "the text ends" if token.kind is TokenKind.END else f'found "{self._original.text[token.at : token.end]}"'
        )
        return self._original.syntax_error(token.at, f"{found}, expected {wanted}", hint)


def _chained(decorators: list[Call], sink: Sink) -> Sink:
    """A flat chain: decorators before a chain become its first ones."""
    if not decorators:
        return sink
    if isinstance(sink, Chain):
        return Chain((*decorators, *sink.decorators), sink.sink)
    return Chain(tuple(decorators), sink)
