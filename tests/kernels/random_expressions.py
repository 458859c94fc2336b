"""Random typed expressions in Spark's SQL over random rows with the values where mistakes hide."""

import math
import re
from datetime import date, datetime
from decimal import Decimal

SCHEMA = (
    "t tinyint, h smallint, i int, j int, n bigint, m bigint, x double, y double, f float, d decimal(10,2), "
    "e decimal(20,4), s string, u string, b boolean, c boolean, day date, ts timestamp, bin binary, "
    "a array<int>, w array<string>, p map<string,int>, r struct<k: int, v: string>"
)
COLUMNS = {
    "byte": "t",
    "short": "h",
    "int": "ij",
    "long": "nm",
    "double": "xy",
    "float": "f",
    "decimal": "de",
    "text": "su",
    "bool": "bc",
    "day": ["day"],
    "time": ["ts"],
    "binary": ["bin"],
    "ints": "a",
    "texts": "w",
    "map": "p",
    "struct": "r",
}
LITERALS = {
    "byte": ["1Y", "-128Y"],
    "short": ["300S", "-1S"],
    "int": ["0", "1", "-1", "7", "2147483647", "cast(null as int)", "100"],
    "long": ["0L", "5L", "-9223372036854775807L", "4294967296L"],
    "double": ["0.0D", "1.5D", "-2.5D", "1e300D", "double('nan')"],
    "float": ["0.1F", "float('inf')", "-3.5F"],
    "decimal": ["0.5", "1.00", "-12.345", "99999999.99"],
    "text": ["''", "'a'", "'12'", "'Straße'", "' x '", "'2024-02-29'", "cast(null as string)"],
    "bool": ["true", "false", "cast(null as boolean)"],
    "day": ["date'2024-02-29'", "date'1969-12-31'"],
    "time": ["timestamp'2024-03-31 02:30:00'", "timestamp'1969-12-31 23:59:59.999999'"],
    "binary": ["X'00ff'", "X''"],
    "ints": ["array(1, null, 3)", "array_remove(array(1), 1)"],
    "texts": ["array('a', null)"],
    "map": ["map('a', 1)"],
    "struct": ["named_struct('k', 1, 'v', 'z')"],
}
ANY = ("int", "long", "double", "decimal", "text", "bool", "day", "time")
SAME = "if({bool}, {T}, {T})|coalesce({T}, {T})|case when {bool} then {T} when {bool} then {T} end|nullif({T}, {T})"
WHOLE = (
    "{T} + {T}|{T} - {T}|{T} * {T}|-{T}|abs({T})|{T} & {T}|{T} | {T}|{T} ^ {T}|~{T}|{T} % {T}|"
    "pmod({T}, {T})|greatest({T}, {T})|least({T}, {T})"
)
FLOATING = "{T} + {T}|{T} - {T}|{T} * {T}|-{T}|abs({T})|{T} % {T}|nanvl({T}, {T})|round({T}, 2)|bround({T}, 1)"
TEMPLATES = {
    "byte": WHOLE + "|cast({int} as tinyint)|bit_get({long}, 3)",
    "short": WHOLE + "|cast({long} as smallint)",
    "int": WHOLE + "|cast({long} as int)|cast({double} as int)|cast({text} as int)|cast({decimal} as int)|"
    "length({text})|size({ints})|{ints}[{int}]|{map}['a']"
    "|{struct}.k|try_add({int}, {int})|try_divide({int}, {int})|year({day})|month({time})|hour({time})|"
    "datediff({day}, {day})|instr({text}, 'a')|ascii({text})"
    "|hash({int}, {text})|bit_count({long})|shiftleft({int}, {int})|{int} >> {int}|"
    "levenshtein({text}, {text})|dayofweek({day})|element_at({map}, 'b')"
    "|try_element_at({ints}, 1)|array_position({ints}, {int})|"
    "aggregate({ints}, 0, (q, v) -> q + coalesce(v, 1))|round({int}, -1)|array_max({ints})|"
    "locate('a', {text})",
    "long": WHOLE + "|{int} + {long}|cast({int} as bigint)|cast({text} as bigint)|cast({double} as bigint)|"
    "{long} div {long}|{int} div {int}|floor({double})|ceil({decimal})"
    "|cast({time} as bigint)|xxhash64({text}, {long})|unix_micros({time})|{long} >>> {int}|"
    "factorial({int})|round({long}, -2)|crc32(cast({text} as binary))",
    "double": FLOATING + "|{double} / {double}|{int} / {long}|cast({text} as double)|cast({decimal} as double)|"
    "sqrt({double})|exp({double})|ln({double})|pow({double}, {int})"
    "|cast({float} as double)|cast({time} as double)|degrees({double})|signum({double})|rint({double})|"
    "log10({double})|pow({double}, {double})|try_divide({double}, {double})",
    "float": FLOATING + "|cast({double} as float)|cast({text} as float)|cast({long} as float)|cast({decimal} as float)",
    "decimal": "{decimal} + {decimal}|{decimal} - {decimal}|{decimal} * {decimal}|{decimal} / {decimal}|"
    "{decimal} % {decimal}|-{decimal}|abs({decimal})|round({decimal}, 1)"
    "|cast({double} as decimal(10,2))|cast({text} as decimal(12,3))|cast({long} as decimal(20,1))|"
    "{decimal} * {int}|greatest({decimal}, {decimal})|try_multiply({decimal}, {decimal})"
    "|bround({decimal}, -1)|cast({decimal} as decimal(5,1))|coalesce({decimal}, 0)|floor({decimal})",
    "text": "concat({text}, {text})|upper({text})|lower({text})|substring({text}, {int}, {int})|trim({text})|"
    "cast({int} as string)|cast({double} as string)|cast({decimal} as string)"
    "|cast({bool} as string)|cast({day} as string)|cast({time} as string)|cast({ints} as string)|"
    "cast({struct} as string)|cast({float} as string)|{struct}.v|{texts}[0]"
    "|replace({text}, 'a', 'bb')|lpad({text}, 5, 'xy')|reverse({text})|concat_ws('-', {text}, {texts})|"
    "hex({long})|hex({text})|left({text}, 2)|split_part({text}, '-', 1)"
    "|regexp_replace({text}, '[a-c]', '_')|regexp_extract({text}, '(.)(b|$)', 1)|to_json({struct})|"
    "date_format({time}, 'yyyy-MM-dd HH:mm')|md5(cast({text} as binary))|substring_index({text}, 'a', 1)"
    "|translate({text}, 'abc', 'xy')|conv({text}, 16, 10)|base64(cast({text} as binary))|initcap({text})|"
    "bin({long})|array_join({texts}, ',')|get_json_object(concat('{{\"q\":', {int}, '}}'), '$.q')",
    "bool": "{bool} and {bool}|{bool} or {bool}|not {bool}|{int} = {int}|{long} < {long}|{double} >= {double}|"
    "{text} <= {text}|{decimal} > {decimal}|{day} < {day}|{time} = {time}|{float} <> {float}"
    "|{binary} < {binary}|{ints} = {ints}|{struct} <=> {struct}|{int} <=> {long}|{double} <=> {float}|"
    "{text} is null|{double} is not null|isnan({double})|{int} in (1, 7, {int})|{text} in ('a', '12')"
    "|{long} between {int} and {long}|{text} like '%a_'|startswith({text}, 'a')|contains({text}, {text})|"
    "{text} rlike '^[0-9]+$'|array_contains({ints}, {int})|exists({ints}, v -> v > {int})|"
    "cast({text} as boolean)"
    "|cast({int} as boolean)|{ints} < {ints}|{bool} = {bool}|arrays_overlap({ints}, {ints})|"
    "{int} in (1,2,3,4,5,6,7,8,9,10,11,null)",
    "day": "date_add({day}, {byte})|cast({time} as date)|cast({text} as date)|add_months({day}, {byte})|"
    "last_day({day})|greatest({day}, {day})|trunc({day}, 'MM')|make_date({short}, {byte}, {byte})",
    "time": "cast({day} as timestamp)|cast({text} as timestamp)|date_trunc('hour', {time})|"
    "{time} + interval '1' day|{time} - interval '25' hour|timestamp_micros({int})|"
    "timestamp_seconds({int})|{time} + interval '1' month"
    "|to_utc_timestamp({time}, 'Asia/Tokyo')|least({time}, {time})",
    "binary": "cast({text} as binary)|unhex({text})|coalesce({binary}, {binary})|concat({binary}, {binary})",
    "ints": "array({int}, {int})|sort_array({ints})|array_distinct({ints})|concat({ints}, {ints})|"
    "slice({ints}, 1, 2)|transform({ints}, v -> v + {int})|filter({ints}, v -> v > {int})|"
    "array_union({ints}, {ints})|array_remove({ints}, {int})"
    "|map_values({map})|array_repeat({int}, 2)|reverse({ints})|cast({texts} as array<int>)|"
    "if({bool}, {ints}, {ints})|array_except({ints}, {ints})",
    "texts": "array({text}, {text})|split({text}, 'a')|map_keys({map})|cast({ints} as array<string>)|"
    "sort_array({texts}, false)|transform({texts}, v -> upper(v))|array_compact({texts})",
    "map": "map('a', {int}, 'b', {int})|map_filter({map}, (q, v) -> v > {int})|"
    "transform_values({map}, (q, v) -> v + {int})|if({bool}, {map}, {map})|"
    "from_json('{{\"a\": 1}}', 'map<string,int>')",
    "struct": "named_struct('k', {int}, 'v', {text})|if({bool}, {struct}, {struct})|"
    "from_json(concat('{{\"k\":', {int}, ',\"v\":\"', {text}, '\"}}'), 'struct<k: int, v: string>')",
}
_BETWEEN = re.compile(r"(?<! )\|(?! )")
POOLS = {
    kind: [t.replace("{T}", f"{{{kind}}}") for t in _BETWEEN.split(text) if t]
    + (SAME.replace("{T}", f"{{{kind}}}").split("|") if kind in ANY else [])
    for kind, text in TEMPLATES.items()
}
_HOLE = re.compile(r"(?<!\{)\{(\w+)\}(?!\})")


def random_expression(dice, kind, depth):
    """The text of an expression of a kind, so many functions deep at most."""
    draw = dice.random()
    if depth == 0 or draw < 0.15:
        return dice.choice(list(COLUMNS[kind])) if draw < 0.11 or dice.random() < 0.7 else dice.choice(LITERALS[kind])
    template = dice.choice(POOLS[kind])
    text = _HOLE.sub(lambda hole: random_expression(dice, hole[1], depth - 1), template)
    return f"({text.replace('{{', '{').replace('}}', '}')})"


_INTS = [0, 1, -1, 2, 3, 7, 10, 31, 64, 100, 127, -128]
_VALUES = {
    "t": [*_INTS],
    "h": [*_INTS, 32767, -32768, 2024],
    "i": [*_INTS, 2**31 - 1, -(2**31), 65536, 1999],
    "n": [*_INTS, 2**63 - 1, -(2**63), 2**53 + 1, 16777217, 10**15],
    "x": [
        0.0,
        -0.0,
        1.0,
        -1.5,
        2.5,
        0.1,
        1e-7,
        1e16,
        1e300,
        -1e300,
        5e-324,
        math.nan,
        math.inf,
        -math.inf,
        123456.789,
        2.675,
        1e7,
    ],
    "f": [0.0, -0.0, 1.5, 0.10000000149011612, 3.4028234663852886e38, math.nan, math.inf, -2.5, 16777216.0],
    "d": [Decimal(v) for v in ("0.00", "1.23", "-7.77", "99999999.99", "-0.01", "0.50", "12.34", "100.00", "2.50")],
    "e": [
        Decimal(v) for v in ("0.0000", "1.0000", "-9999999999999999.9999", "0.0001", "3.1416", "2.5000", "123456.7891")
    ],
    "s": [
        "",
        "a",
        "abc",
        "12",
        "-7",
        " 3 ",
        "1e3",
        "Straße",
        "\U0001f600b",
        "A-B-a",
        "2024-02-29",
        "2024-03-31 02:30:00",
        "true",
        "NaN",
        "x\ny",
        "0x1F",
        "9223372036854775808",
        "1.5",
    ],
    "b": [True, False],
    "day": [
        date(2024, 2, 29),
        date(1970, 1, 1),
        date(1969, 12, 31),
        date(1900, 1, 1),
        date(2038, 1, 19),
        date(1582, 10, 10),
    ],
    "ts": [
        datetime(2024, 3, 31, 1, 30),
        datetime(2024, 10, 27, 0, 59, 59, 999999),
        datetime(1969, 12, 31, 23, 59, 59, 1),
        datetime(2000, 1, 1),
        datetime(2024, 2, 29, 12, 30, 15),
    ],
    "bin": [b"", b"\x00\xff", b"abc", b"\xe9"],
    "a": [[], [1], [1, None, 2], [3, 1, 2, 3], [None], [-1, 2**31 - 1]],
    "w": [[], ["a"], ["b", None, "a"], ["", "1"], ["x", "7"]],
    "p": [{}, {"a": 1}, {"b": None, "a": 2}, {"c": -1}],
    "r": [(1, "a"), (None, None), (7, "Straße"), (-1, "")],
}
_LIKE = {"j": "i", "m": "n", "y": "x", "u": "s", "c": "b"}


def random_rows(dice, count):
    """Rows of `SCHEMA`."""
    names = [part.split()[0] for part in re.split(r",(?![^<(]*[>)])", SCHEMA)]
    return [
        tuple(None if dice.random() < 0.1 else dice.choice(_VALUES[_LIKE.get(name, name)]) for name in names)
        for _ in range(count)
    ]
