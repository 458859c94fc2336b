"""How a line of CSV is cut into values: as Spark's parser does it, also where quotes are out of place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

BLANK = "".join(map(chr, range(33)))


@dataclass(frozen=True)
class Dialect:
    """The characters that separate, quote and escape."""

    separator: str = ","
    quote: str = '"'
    escape: str = "\\"

    def cut(self, line: str) -> list[str | None]:
        r"""The values of a line, None where nothing stands.

        >>> Dialect().cut('1,"a,\\"b",x"y"'), Dialect().cut('"a"b,,""'), Dialect().cut('"c')
        (['1', 'a,"b', 'x"y"'], ['"a"b', None, ''], ['c'])
        """
        if self.quote not in line:
            return [value or None for value in line.split(self.separator)]
        values: list[str | None] = []
        at = 0
        while at <= len(line):
            if not line.startswith(self.quote, at):
                end = line.find(self.separator, at)
                end = len(line) if end < 0 else end
                values.append(line[at:end] or None)
            elif found := self._well_formed.match(line, at):
                values.append(self._escaped.sub(r"\1", found[1]))
                end = found.end()
            else:
                value, end = Tangle(self, line, at).value()
                values.append(value or None)
            at = end + 1
        return values

    @cached_property
    def _well_formed(self) -> re.Pattern[str]:
        s, q, e = map(re.escape, (self.separator, self.quote, self.escape))
        return re.compile(f"{q}((?:[^{q}{e}]|{e}[{q}{e}])*){q}[\0- ]*?(?={s}|$)", re.DOTALL)

    @cached_property
    def _escaped(self) -> re.Pattern[str]:
        return re.compile(f"{re.escape(self.escape)}(.)", re.DOTALL)


class Tangle:
    """A quoted value that isn't well formed.

    A step for each character, with the one before it in mind. A quote that turns out not to be the last
    one makes the value a raw one, from its first quote to the next separator.
    """

    def __init__(self, dialect: Dialect, line: str, start: int) -> None:
        self._dialect = dialect
        self._line = line
        self._at = start + 1
        self._out: list[str] = []

    def value(self) -> tuple[str, int]:
        """The value, and where its separator stands (or the line ends)."""
        quote, escape = self._dialect.quote, self._dialect.escape
        before = ""
        for c in self._characters():
            if before == quote and (c <= " " or c == self._dialect.separator):
                return self._closed()
            if before == quote and c not in (quote, escape):
                self._out.append(quote)
                return self._raw(self._at - 1)
            if before == escape and c not in (quote, escape):
                self._out.append(escape)
            if c not in (quote, escape):
                self._out.append(c)
            elif before == escape:
                self._out.append(c)
                c = ""  # noqa: PLW2901 (what is escaped escapes nothing)
            elif before == quote:
                self._out.append(quote)
            before = c
        return "".join(self._out) if before or self._out else quote, len(self._line)

    def _characters(self) -> Iterator[str]:
        while self._at < len(self._line):
            self._at += 1
            yield self._line[self._at - 1]

    def _closed(self) -> tuple[str, int]:
        """Blanks after a quote end the value if nothing else follows them."""
        at = self._at - 1
        rest = at
        while rest < len(self._line) and self._line[rest] <= " " and self._line[rest] != self._dialect.separator:
            rest += 1
        if rest == len(self._line) or self._line[rest] == self._dialect.separator:
            return "".join(self._out), rest
        self._out.append(self._dialect.quote)
        return self._raw(at)

    def _raw(self, at: int) -> tuple[str, int]:
        end = self._line.find(self._dialect.separator, at)
        end = len(self._line) if end < 0 else end
        return f"{self._dialect.quote}{''.join(self._out)}{self._line[at:end]}", end
