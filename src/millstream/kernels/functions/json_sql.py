"""Reading JSON in DuckDB, with a refusal wherever its parser and Spark's might differ.

DuckDB's parser takes more than Jackson: commas before a closing bracket, NaN and infinity in any spelling, numbers
and nesting without limit. All these are looked for in the text. Its strict transformation refuses a missing field
and a field that occurs twice; and since a field arrives as JSON, its type is seen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql.types import BooleanType, DataType, DoubleType, IntegerType, LongType, StringType, StructType

from millstream.kernels.functions.json_tokens import MAX_DEPTH

REFUSE = "error('this JSON is for the scalar kernel')"
_BLANK = r"[ \t\r\n]*"
_ODD_NUMBER = r"-?(?:[nN][aA]|[iI])"


def _matches(text: str, pattern: str) -> str:
    return f"regexp_matches({text}, '{pattern}')"


def _odd(text: str) -> str:
    """Whether a text may hold what only DuckDB takes for JSON; the parts are ordered by what they cost."""
    brackets = f"strlen({text}) - strlen(replace(replace({text}, '[', ''), '{{', ''))"
    return " OR ".join(
        (
            f"(strlen({text}) > {MAX_DEPTH} AND ({brackets} > {MAX_DEPTH} OR {_matches(text, '[-+.0-9eE]{500}')}))",
            _matches(text, rf",{_BLANK}(?:[}}\]]|{_ODD_NUMBER})"),
            _matches(text, rf":{_BLANK}{_ODD_NUMBER}"),
            f"(contains({text}, '[') AND {_matches(text, rf'[[]{_BLANK}{_ODD_NUMBER}')})",
        )
    )


def _boolean(text: str) -> str:
    return f"CASE {text} WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE ELSE {REFUSE} END"


def _string(text: str) -> str:
    return f"CASE WHEN starts_with({text}, '\"') THEN json_extract_string({text}, '$') ELSE {REFUSE} END"


def _number(kind: str, text: str, *signs: str) -> str:
    """A number, unless its text holds one of these signs: DuckDB would read a string, and round a fraction."""
    signed = " OR ".join([f"contains({text}, '{sign}')" for sign in ('"', *signs)])
    return f"CASE WHEN {signed} THEN {REFUSE} ELSE CAST({text} AS {kind}) END"


def _field(kind: DataType, text: str) -> str | None:
    """A field's value, from its JSON."""
    if isinstance(kind, StringType):
        made = _string(text)
    elif isinstance(kind, BooleanType):
        made = _boolean(text)
    elif isinstance(kind, LongType):
        made = _number("BIGINT", text, ".", "e")
    elif isinstance(kind, IntegerType):
        made = _number("INTEGER", text, ".", "e")
    elif isinstance(kind, DoubleType):
        made = _number("DOUBLE", text)
    else:
        return None
    return f"CASE WHEN {text} IS NULL THEN NULL ELSE {made} END"


def struct_sql(schema: StructType, corrupt: int | None, value: str) -> str | None:
    """A text as a struct; None if a field has a type that is not read here."""
    wanted = {f.name: "JSON" for i, f in enumerate(schema) if i != corrupt}
    if not wanted or len({name.lower() for name in schema.names}) < len(schema):
        return None
    entries = []
    for i, f in enumerate(schema):
        made = "CAST(NULL AS VARCHAR)" if i == corrupt else _field(f.dataType, f"struct_extract(j, {_quoted(f.name)})")
        if made is None:
            return None
        entries.append(f"{_quoted(f.name)}: {made}")
    if value.isidentifier():
        return _guarded(value, wanted, entries)
    return f"list_transform([{value}], lambda v: {_guarded('v', wanted, entries)})[1]"


def _guarded(text: str, wanted: Mapping[str, str], entries: list[str]) -> str:
    # A lambda is how DuckDB names a value within an expression: the text is parsed once for all its fields.
    parsed = f"json_transform_strict({text}, {_quoted(json.dumps(wanted))})"
    checked = f"CASE WHEN {_odd(text)} THEN {REFUSE} ELSE {parsed} END"
    made = f"CASE WHEN j IS NULL THEN {REFUSE} ELSE {{{', '.join(entries)}}} END"
    return f"CASE WHEN {text} IS NULL THEN NULL ELSE list_transform([{checked}], lambda j: {made})[1] END"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
