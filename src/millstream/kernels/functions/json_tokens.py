"""JSON read token by token, as leniently and as lazily as Jackson does, on which Spark's JSON functions stand.

Well-formed records never come here. It matters for the others, because Spark goes on after an error: what a
malformed record still yields depends on where Jackson's reader stands then. Hence this class mirrors its states:
a field's value is recognised together with its name, and a double-quoted string is read only when asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto
from typing import NamedTuple, NoReturn

MAX_DEPTH = 1000
MAX_NUMBER = 1000
MAX_REPORTED = 256


class JsonError(ValueError):
    """The text is not JSON, or not of the type that is asked for."""


class Kind(Enum):
    """What a token is."""

    START_OBJECT = auto()
    END_OBJECT = auto()
    START_ARRAY = auto()
    END_ARRAY = auto()
    NAME = auto()
    STRING = auto()
    INT = auto()
    FLOAT = auto()
    TRUE = auto()
    FALSE = auto()
    NULL = auto()


class Leniency(NamedTuple):
    """Which departures from JSON are allowed; the names are those of Spark's options."""

    comments: bool = False
    unquoted_field_names: bool = False
    single_quotes: bool = True
    numeric_leading_zeros: bool = False
    non_numeric_numbers: bool = True
    backslash_escaping_any_character: bool = False
    unquoted_control_chars: bool = False

    @staticmethod
    def of(options: Mapping[str, str]) -> Leniency:
        """From Spark's options, with their names in lower case.

        >>> Leniency.of({"allowcomments": "true"}).comments
        True
        """
        found = {name: options.get("allow" + name.replace("_", "")) for name in Leniency._fields}
        return Leniency(**{name: value.lower() == "true" for name, value in found.items() if value is not None})


STRICT = Leniency()
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "/": "/", "\\": "\\"}
_DIGITS = frozenset("0123456789")
_LITERALS = {"t": ("true", Kind.TRUE), "f": ("false", Kind.FALSE), "n": ("null", Kind.NULL)}
_STARTS = (Kind.START_OBJECT, Kind.START_ARRAY)
_ENDS = (Kind.END_OBJECT, Kind.END_ARRAY)
_NOT_A_NUMBER = {"NaN": "NaN", "Infinity": "Infinity", "-INF": "-Infinity", "+INF": "Infinity"}


def _starts_name(c: str) -> bool:
    return c == "$" or c.isidentifier()


def _continues_name(c: str) -> bool:
    return c == "$" or ("a" + c).isidentifier() or c <= "\x08" or "\x0e" <= c <= "\x1b" or "\x7f" <= c <= "\x9f"


class _Context:
    """An object, an array or the root, and how many values of it were met."""

    __slots__ = ("closer", "count", "name", "parent")

    def __init__(self, closer: str, parent: _Context | None) -> None:
        self.closer = closer
        self.parent = parent
        self.count = -1
        self.name: str | None = None


class Tokens:
    """A reader of one text; `kind` is the token that it stands on, None before the first and after the last.

    >>> tokens = Tokens("{'a': [1, 2.50]}")
    >>> [str(tokens.next()).removeprefix("Kind.") for _ in range(4)], tokens.text()
    (['START_OBJECT', 'NAME', 'START_ARRAY', 'INT'], '1')
    """

    def __init__(self, source: str, leniency: Leniency = STRICT) -> None:
        self.source = source
        self.end = len(source)
        self.at = 0
        self.allow = leniency
        self.kind: Kind | None = None
        self._value: Kind | None = None
        self._unread = False
        self._text = ""
        self._context = _Context("", None)
        self._depth = 0

    @property
    def name(self) -> str | None:
        """The field in which the reader stands."""
        context = self._context
        if self.kind in _STARTS and context.parent is not None:
            context = context.parent
        return context.name

    def text(self) -> str:
        """The text of a scalar token."""
        if self.kind is Kind.STRING and self._unread:
            self._unread = False
            self._text = self._string('"')
        return self._text

    def skip_children(self) -> None:
        """At the start of an object or array: go to its end."""
        if self.kind not in _STARTS:
            return
        depth = 1
        while depth:
            kind = self.next()
            if kind is None:
                return
            depth += (kind in _STARTS) - (kind in _ENDS)

    def next(self) -> Kind | None:
        """Go to the next token."""
        if self.kind is Kind.NAME:
            self._enter(self._value)
            self._value = None
            return self.kind
        if self._unread:
            self._unread = False
            self._string('"')
        c = self._blank_then()
        if not c:
            if self._context.closer:
                raise JsonError("the text ends too early")
            self.kind = None
            return None
        if c in "]}":
            return self._close(c)
        context = self._context
        context.count += 1
        if context.closer and context.count:
            if c != ",":
                raise JsonError(f"a comma was expected, not {c!r}")
            c = self._something()
        if context.closer != "}":
            self._enter(self._start(c))
            return self.kind
        context.name = self._string('"') if c == '"' else self._odd_name(c)
        self.kind = Kind.NAME
        self._value = None
        self._value = self._start(self._after_colon())
        return self.kind

    def _enter(self, kind: Kind | None) -> None:
        if kind in _STARTS:
            self._context = _Context("}" if kind is Kind.START_OBJECT else "]", self._context)
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise JsonError(f"nested more than {MAX_DEPTH} levels deep")
        self.kind = kind

    def _close(self, c: str) -> Kind:
        if self._context.closer != c or self._context.parent is None:
            raise JsonError(f"{c!r} closes nothing")
        self._context = self._context.parent
        self._depth -= 1
        self.kind = Kind.END_OBJECT if c == "}" else Kind.END_ARRAY
        return self.kind

    def _take(self) -> str:
        """The next character; empty at the end."""
        if self.at >= self.end:
            return ""
        c = self.source[self.at]
        self.at += 1
        return c

    def _peek(self) -> str:
        return self.source[self.at] if self.at < self.end else ""

    def _blank_then(self) -> str:
        """The first character after white space and comments; empty at the end."""
        while c := self._take():
            if c == "/" and self.allow.comments:
                self._comment()
            elif c == "/":
                raise JsonError("comments are not allowed")
            elif c > " ":
                return c
            elif c not in " \n\r\t":
                raise JsonError("a control character stands between tokens")
        return ""

    def _something(self) -> str:
        c = self._blank_then()
        if not c:
            raise JsonError("the text ends too early")
        return c

    def _comment(self) -> None:
        c = self._take()
        if c == "/":
            ends = [i for i in (self.source.find("\n", self.at), self.source.find("\r", self.at)) if i >= 0]
            self.at = min(ends, default=self.end)
        elif c == "*":
            close = self.source.find("*/", self.at)
            if close < 0:
                self.at = self.end
                raise JsonError("a comment does not end")
            self.at = close + 2
        else:
            raise JsonError("'/' begins no comment")

    def _after_colon(self) -> str:
        c = self._blank_then()
        if c != ":":
            raise JsonError("a colon was expected")
        return self._something()

    def _start(self, c: str) -> Kind:  # noqa: PLR0911 (one for each kind of value)
        """The kind of the value that begins with `c`; scalars other than strings are read to their end."""
        if c == '"':
            self._unread = True
            return Kind.STRING
        if c == "{":
            return Kind.START_OBJECT
        if c == "[":
            return Kind.START_ARRAY
        if c in _DIGITS:
            return self._number(c, "")
        if c == "-":
            return self._signed(self._take(), "-")
        if c in _LITERALS:
            word, kind = _LITERALS[c]
            self._word(word, 1)
            self._text = word
            return kind
        return self._odd_value(c)

    def _odd_value(self, c: str) -> Kind:
        if c == "'" and self.allow.single_quotes:
            self._text = self._string("'")
            return Kind.STRING
        if c in ("N", "I"):
            return self._special("NaN" if c == "N" else "Infinity", 1)
        if c == "+":
            return self._signed(self._take(), "+")
        if _starts_name(c):
            self._unknown(1)
        raise JsonError(f"{c!r} begins no value")

    def _signed(self, c: str, sign: str) -> Kind:
        if c in _DIGITS and sign == "-":
            return self._number(c, "-")
        if c == "I":
            c = self._take()
            if c == "N":
                return self._special(sign + "INF", 3)
            if c == "n":
                return self._special(sign + "Infinity", 3)
        raise JsonError(f"{c!r} follows {sign}")

    def _special(self, word: str, matched: int) -> Kind:
        self._word(word, matched)
        if not self.allow.non_numeric_numbers:
            raise JsonError(f"{word} is not allowed")
        self._text = _NOT_A_NUMBER.get(word, word.removeprefix("+"))
        return Kind.FLOAT

    def _word(self, word: str, matched: int) -> None:
        for i in range(matched, len(word)):
            if self._peek() != word[i]:
                self._unknown(i)
            self.at += 1
        if (c := self._peek()) >= "0" and c not in "]}" and _continues_name(c):
            self._unknown(len(word))

    def _unknown(self, length: int) -> NoReturn:
        """Jackson passes over the rest of an unknown word to report it."""
        while length < MAX_REPORTED and (c := self._peek()) and _continues_name(c):
            self.at += 1
            length += 1
        raise JsonError("an unknown word")

    def _number(self, first: str, sign: str) -> Kind:
        source, end = self.source, self.end
        start = at = self.at - 1
        if first == "0" and self._peek() in _DIGITS:
            if not self.allow.numeric_leading_zeros:
                raise JsonError("a number begins with zero")
            while at + 1 < end and source[at] == "0" and source[at + 1] in _DIGITS:
                at += 1
            start = at
        at = self._digits(at)
        kind = Kind.INT
        if at < end and source[at] == ".":
            self.at = at + 1
            at = self._digits(self.at)
            if at == self.at:
                raise JsonError("no digit follows the decimal point")
            kind = Kind.FLOAT
        if at < end and source[at] in "eE":
            self.at = at = at + 1
            if at < end and source[at] in "+-":
                at += 1
            digits = self._digits(at)
            if digits == at:
                raise JsonError("no digit follows the exponent")
            at, kind = digits, Kind.FLOAT
        self.at = at
        if not self._context.closer and at < end:
            if source[at] not in " \t\r\n":
                raise JsonError("white space was expected after a number")
            self.at += 1
        text = source[start:at]
        if len(text) > MAX_NUMBER and sum(map(str.isdigit, text)) > MAX_NUMBER:
            raise JsonError(f"a number of more than {MAX_NUMBER} digits")
        self._text = sign + text
        return kind

    def _digits(self, at: int) -> int:
        source, end = self.source, self.end
        while at < end and source[at] in _DIGITS:
            at += 1
        return at

    def _odd_name(self, c: str) -> str:
        if c == "'" and self.allow.single_quotes:
            return self._string("'")
        if not self.allow.unquoted_field_names or not _starts_name(c):
            raise JsonError(f"a name was expected, not {c!r}")
        start = self.at - 1
        while (c := self._peek()) and _continues_name(c):
            self.at += 1
        return self.source[start : self.at]

    def _string(self, quote: str) -> str:
        """The rest of a string."""
        parts: list[str] = []
        source, start = self.source, self.at
        while c := self._take():
            if c == quote:
                parts.append(source[start : self.at - 1])
                return "".join(parts)
            if c == "\\":
                parts.append(source[start : self.at - 1])
                parts.append(self._escape())
                start = self.at
            elif c < " " and not self.allow.unquoted_control_chars:
                raise JsonError("a control character stands in a string")
        raise JsonError("a string does not end")

    def _escape(self) -> str:
        c = self._take()
        if c in _ESCAPES:
            return _ESCAPES[c]
        if c == "u":
            digits = ""
            for _ in range(4):
                digit = self._take()
                if digit not in "0123456789abcdefABCDEF" or not digit:
                    raise JsonError("an escape needs four hexadecimal digits")
                digits += digit
            return chr(int(digits, 16))
        if c and (self.allow.backslash_escaping_any_character or (c == "'" and self.allow.single_quotes)):
            return c
        raise JsonError("an unknown escape")


def whole(text: str) -> str:
    """Text made of UTF-16 units, as Spark keeps it: pairs joined, and a question mark for half a pair.

    >>> whole("a" + chr(0xD83D) + chr(0xDE00) + chr(0xD800)) == "a" + chr(0x1F600) + "?"
    True
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return joined.encode("utf-8", "replace").decode()
    return text
