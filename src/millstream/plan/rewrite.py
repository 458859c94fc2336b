"""Makes a plan of Spark's better for us: what its optimizer repeats is computed once.

Spark pushes filters to the source and gives each a `from_json` of its own, with just the fields that the
filter reads; its code then parses every record three times in a typical query. Here the operators next
to the source share one parse, of all the fields that any of them reads and no others.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count

from pyspark.sql.types import BooleanType, StringType, StructType

from millstream.plan.algebra import Column, Columns, Expr, Filter, Node, Project

_FRESH = count(1 << 40)

FREQUENT = "etaoinsrhldcum0123456789 -_./"
"""What texts are mostly made of, the most frequent first."""


def fresh_column(name: str, e: Expr) -> Column:
    """A column that Spark's plan doesn't have, to hold an expression."""
    return Column(next(_FRESH), name, e.type)


def replaced(e: Expr, change: Callable[[Expr], Expr | None]) -> Expr:
    """An expression with parts of it replaced, from the outside in; None leaves a part as it is."""
    new = change(e)
    if new is not None:
        return new
    return replace(e, args=tuple(replaced(arg, change) for arg in e.args)) if e.args else e


@dataclass
class _Parse:
    """All that is read from one JSON expression."""

    example: Expr
    sites: int = 0
    whole: bool = False
    """Somebody reads the struct itself, not only fields of it."""
    fields: dict[str, Column] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    """Of all fields that anybody declares."""


class _Sharing:
    """Finds out who parses what, then lets all of them read columns that one parse fills."""

    def __init__(self, base: Columns) -> None:
        self._base = {c.id for c in base}
        self._parses: dict[str, _Parse] = {}
        self._aliases: dict[int, _Parse] = {}

    def parse_of(self, e: Expr) -> _Parse | None:
        """What an expression parses, if it is a parse that can be shared."""
        if e.op == "Column":
            return self._aliases.get(e.params["id"])
        if e.op != "JsonToStructs" or not _shareable(e) or not e.columns() <= self._base:
            return None
        key = repr((e.args, sorted(e.params["options"].items()), e.params.get("timezone")))
        parse = self._parses.setdefault(key, _Parse(e))
        parse.names.update(e.type.names)
        return parse

    def look(self, e: Expr) -> None:
        """Note the parses in an expression, and which of their fields it reads."""
        if e.op == "GetStructField":
            parse = self.parse_of(e.args[0])
            if parse is not None:
                parse.sites += e.args[0].op == "JsonToStructs"
                name = e.args[0].type.names[e.params["ordinal"]]
                known = parse.fields.setdefault(name, fresh_column(name, e))
                parse.whole |= known.type != e.type
                return
        parse = self.parse_of(e)
        if parse is not None:
            parse.sites += e.op == "JsonToStructs"
            parse.whole = True
            return
        for arg in e.args:
            self.look(arg)

    def alias(self, column: Column, e: Expr) -> bool:
        """Note that a column holds nothing but a parse."""
        parse = self.parse_of(e)
        if parse is not None:
            parse.sites += e.op == "JsonToStructs"
            self._aliases[column.id] = parse
        return parse is not None

    def shared(self) -> list[_Parse]:
        """The parses that are worth sharing: of which only fields are read."""
        return [p for p in self._parses.values() if p.fields and not p.whole]

    def change(self, e: Expr) -> Expr | None:
        """A field of a shared parse becomes the column that holds it."""
        if e.op != "GetStructField":
            return None
        parse = self.parse_of(e.args[0])
        if parse is None or parse.whole:
            return None
        return parse.fields[e.args[0].type.names[e.params["ordinal"]]].ref()

    def dropped(self, column: Column) -> bool:
        """Whether a column held a parse that nobody needs as a struct any more."""
        parse = self._aliases.get(column.id)
        return parse is not None and not parse.whole


def parse_once(base: Columns, nodes: Sequence[Node]) -> list[Node]:
    """Operators over columns `base`, with one projection before them that parses each JSON text once."""
    reach = next((i for i, node in enumerate(nodes) if not isinstance(node, (Filter, Project))), len(nodes))
    near, rest = list(nodes[:reach]), list(nodes[reach:])
    if not near:
        return rest
    sharing = _Sharing(base)
    for node in near:
        if isinstance(node, Filter):
            sharing.look(node.condition)
        elif isinstance(node, Project):
            for column, e in zip(node.output, node.exprs):
                if not sharing.alias(column, e):
                    sharing.look(e)
    for column in near[-1].output:
        sharing.look(column.ref())
    shared = sharing.shared()
    if not shared:
        return list(nodes)
    hopeful = _hopeful(base, near, sharing)
    return [*hopeful, *_parsing(base, shared), *_carrying(near, sharing, shared), *rest]


def _hopeful(base: Columns, near: list[Node], sharing: _Sharing) -> list[Node]:
    """Filters that spare a parse: a text without a letter of the word that a field must hold can't pass later.

    One letter is found several times as fast as a word, and if it is a rare one it tells nearly as much. JSON can
    write it in another way only with a backslash, so a text with one is not judged.
    """
    filters: list[Node] = []
    for node in near:
        for part in node.condition.conjuncts() if isinstance(node, Filter) else ():
            words = _words(part)
            parse = sharing.parse_of(part.args[0].args[0]) if words else None
            if parse is None or parse.example.args[0].op != "Column":
                continue
            text = parse.example.args[0]
            letters = dict.fromkeys(_rarest(word, parse.names) for word in words)
            tests = [Expr("Contains", BooleanType(), (text, _text(letter))) for letter in (*letters, "\\")]
            filters.append(Filter(base, Node(base), reduce(_either, tests)))
    return filters


def _words(part: Expr) -> list[str]:
    """The texts one of which a JSON field must hold for a condition to be true; none if that can't be told."""
    if part.op not in ("EqualTo", "In", "StartsWith", "EndsWith", "Contains") or part.args[0].op != "GetStructField":
        return []
    words = [arg.params.get("value") if arg.op == "Literal" else None for arg in part.args[1:]]
    plain = all(isinstance(word, str) and re.fullmatch(r"[\w .@+/-]+", word) for word in words)
    return [str(word) for word in words] if plain else []


def _rarest(word: str, names: Iterable[str]) -> str:
    """The letter of a word that other words have least: none of the fields' names, which every record has.

    >>> _rarest("view", ["event_type", "ad_id"])
    'w'
    """
    common = "".join(names) + FREQUENT
    return min(word, key=lambda letter: (letter in common, common.rfind(letter)))


def _text(value: str) -> Expr:
    return Expr("Literal", StringType(), (), {"value": value})


def _either(left: Expr, right: Expr) -> Expr:
    return Expr("Or", BooleanType(), (left, right))


def _parsing(base: Columns, shared: list[_Parse]) -> list[Node]:
    """A projection that parses, and one that takes the fields out."""
    kept = tuple(c.ref() for c in base)
    parsed: list[tuple[Column, Expr]] = []
    taken: list[tuple[Column, Expr]] = []
    for parse in shared:
        fields = list(parse.fields.items())
        schema = StructType()
        for name, column in fields:
            schema = schema.add(name, column.type)
        e = replace(parse.example, type=schema, params={**parse.example.params, "schema": schema})
        whole = fresh_column("parsed", e)
        parsed.append((whole, e))
        for ordinal, (_, column) in enumerate(fields):
            taken.append((column, Expr("GetStructField", column.type, (whole.ref(),), {"ordinal": ordinal})))
    source = Node(base)
    first = Project((*base, *(c for c, _ in parsed)), source, (*kept, *(e for _, e in parsed)))
    second = Project((*base, *(c for c, _ in taken)), first, (*kept, *(e for _, e in taken)))
    return [first, second]


def _carrying(near: list[Node], sharing: _Sharing, shared: list[_Parse]) -> list[Node]:
    """The operators, reading fields from columns and handing those on to whoever reads them above."""
    fields = [column for parse in shared for column in parse.fields.values()]
    changed: list[Node] = []
    wanted: set[int] = set()
    for node in reversed(near):
        extra = tuple(c for c in fields if c.id in wanted)
        if isinstance(node, Filter):
            condition = replaced(node.condition, sharing.change)
            wanted |= condition.columns()
            kept = tuple(c for c in node.output if not sharing.dropped(c))
            changed.append(replace(node, condition=condition, output=(*kept, *extra)))
        else:
            assert isinstance(node, Project)
            pairs = [
                (c, replaced(e, sharing.change)) for c, e in zip(node.output, node.exprs) if not sharing.dropped(c)
            ]
            pairs += [(c, c.ref()) for c in extra]
            wanted |= {id for _, e in pairs for id in e.columns()}
            changed.append(replace(node, output=tuple(c for c, _ in pairs), exprs=tuple(e for _, e in pairs)))
    return changed[::-1]


def _shareable(e: Expr) -> bool:
    """Whether a record's other fields can't change what this parse gives."""
    options = {name.lower(): value for name, value in e.params["options"].items()}
    return (
        isinstance(e.type, StructType)
        and options.get("mode", "PERMISSIVE").upper() == "PERMISSIVE"
        and "columnnameofcorruptrecord" not in options
        and e.params["corrupt"] not in e.type.names
        and len(set(e.type.names)) == len(e.type.names)
    )
