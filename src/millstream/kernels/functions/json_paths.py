"""JSON looked into by paths, as Hive's `get_json_object` does it and Spark after it."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache

from millstream.kernels.functions.json_tokens import JsonError, Kind, Leniency, Tokens, whole
from millstream.kernels.functions.json_writer import copied

HIVE = Leniency(single_quotes=True, non_numeric_numbers=False, unquoted_control_chars=True)
"""What Spark's JSON functions with paths allow."""

_NODE = re.compile(r"(\.\*|\['\*'\])|\.([^.\[]+)|\['([^'?]+)'\]|\[(\*)\]|\[(\d+)\]", re.ASCII)


class Step(Enum):
    """The parts of a path beside names and places."""

    KEY = auto()
    SUBSCRIPT = auto()
    WILDCARD = auto()


class Style(Enum):
    """How what is found is written: bare, as JSON, or as JSON with arrays dissolved."""

    RAW = auto()
    QUOTED = auto()
    FLAT = auto()


Path = tuple[Step | str | int, ...]
EACH = (Step.SUBSCRIPT, Step.WILDCARD)


@lru_cache(maxsize=256)
def parsed(path: str) -> Path | None:
    """The steps of a path; None if it is none.

    >>> parsed("$.a[0]"), parsed("a")
    ((<Step.KEY: 1>, 'a', <Step.SUBSCRIPT: 2>, 0), None)
    """
    if not path.startswith("$"):
        return None
    steps: list[Step | str | int] = []
    at = 1
    while at < len(path):
        found = _NODE.match(path, at)
        if found is None:
            return None
        star, name, quoted, each, place = found.groups()
        if star:
            steps.append(Step.WILDCARD)
        elif each:
            steps += EACH
        elif place:
            steps += (Step.SUBSCRIPT, int(place))
        else:
            steps += (Step.KEY, name or quoted)
        at = found.end()
    return tuple(steps)


def get_json_object(text: str, path: str) -> str | None:
    """What a path leads to.

    >>> get_json_object('{"a": [{"b": 1}, {"b": "x"}]}', "$.a[*].b")
    '[1,"x"]'
    """
    steps = parsed(path)
    if steps is None:
        return None
    tokens = Tokens(text, HIVE)
    try:
        if tokens.next() is None:
            return None
        found, matched = _find(tokens, Style.RAW, steps)
    except JsonError:
        return None
    return "".join(found) if matched else None


def _find(tokens: Tokens, style: Style, path: Path) -> tuple[list[str], bool]:
    """The values written, and whether any of them counts as found."""
    kind = tokens.kind
    if not path:
        return _write(tokens, style)
    step, rest = path[0], path[1:]
    if kind is Kind.START_OBJECT and step is Step.KEY:
        return _fields(tokens, style, rest)
    if kind is Kind.START_ARRAY and step is Step.SUBSCRIPT and rest:
        return _elements(tokens, style, rest)
    if kind is Kind.NAME and (step is Step.WILDCARD or step == tokens.name):
        if tokens.next() is not Kind.NULL or step is Step.WILDCARD:
            return _find(tokens, style, rest)
        return [], False
    tokens.skip_children()
    return [], False


def _write(tokens: Tokens, style: Style) -> tuple[list[str], bool]:
    if tokens.kind is Kind.STRING and style is Style.RAW:
        return [whole(tokens.text())], True
    if tokens.kind is Kind.START_ARRAY and style is Style.FLAT:
        return _each(tokens, Style.FLAT, ())
    return [copied(tokens)], True


def _fields(tokens: Tokens, style: Style, path: Path) -> tuple[list[str], bool]:
    values: list[str] = []
    matched = False
    while tokens.next() is not Kind.END_OBJECT:
        if matched:
            tokens.skip_children()
        else:
            found, matched = _find(tokens, style, path)
            values += found
    return values, matched


def _each(tokens: Tokens, style: Style, path: Path) -> tuple[list[str], bool]:
    values: list[str] = []
    matched = False
    while tokens.next() is not Kind.END_ARRAY:
        found, good = _find(tokens, style, path)
        values += found
        matched |= good
    return values, matched


def _elements(tokens: Tokens, style: Style, path: Path) -> tuple[list[str], bool]:
    step, rest = path[0], path[1:]
    if isinstance(step, int):
        return _element(tokens, Style.QUOTED if rest[:2] == EACH else style, step, rest)
    if step is not Step.WILDCARD:
        tokens.skip_children()
        return [], False
    if rest[:2] == EACH:
        values, matched = _each(tokens, Style.FLAT, rest[2:])
        return [f"[{','.join(values)}]"], matched
    if style is Style.QUOTED:
        values, matched = _each(tokens, Style.QUOTED, rest)
        return [f"[{','.join(values)}]"], matched
    inner = Style.QUOTED if style is Style.RAW else style
    values = []
    count = 0
    while tokens.next() is not Kind.END_ARRAY:
        found, good = _find(tokens, inner, rest)
        values += found
        count += good
    if count > 1:
        return [f"[{','.join(values)}]"], True
    return ([",".join(values)], True) if count else ([], False)


def _element(tokens: Tokens, style: Style, place: int, path: Path) -> tuple[list[str], bool]:
    for i in range(place + 1):
        if tokens.next() is Kind.END_ARRAY:
            return [], False
        if i < place:
            tokens.skip_children()
    result = _find(tokens, style, path)
    while tokens.next() is not Kind.END_ARRAY:
        tokens.skip_children()
    return result


def array_length(text: str) -> int | None:
    """How many elements the outermost array has; None if the text is no array."""
    tokens = Tokens(text, HIVE)
    count = 0
    try:
        if tokens.next() is not Kind.START_ARRAY:
            return None
        while tokens.next() is not Kind.END_ARRAY:
            tokens.skip_children()
            count += 1
    except JsonError:
        return None
    return count


def object_keys(text: str) -> list[str] | None:
    """The names of the outermost object's fields; None if the text is no object."""
    tokens = Tokens(text, HIVE)
    names = []
    try:
        if tokens.next() is not Kind.START_OBJECT:
            return None
        while tokens.next() is not Kind.END_OBJECT:
            names.append(whole(tokens.name or ""))
            tokens.next()
            tokens.skip_children()
    except JsonError:
        return None
    return names
