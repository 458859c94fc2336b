"""The page that lists what runs natively."""

from millstream.kernels.aggregates import FUNCTIONS as AGGREGATES
from millstream.kernels.functions import FUNCTIONS
from millstream.kernels.functions.generators import GENERATORS
from tests.kernels.oracle import COVERED

HEAD = """# What runs natively

Made by `make coverage` from the tests' comparisons with Spark; don't edit it.

A query is native when all of its operators, expressions, sources and its sink are. `millstream.explain(df)`
tells for a given DataFrame, and names the first part that isn't.

- **Operators:** select, withColumn, drop, filter, explode and its family, union, joins with a static table (inner,
  left, semi, anti), `withWatermark`, `groupBy` with any keys and tumbling, sliding and session windows,
  several aggregations in sequence, `dropDuplicates`, `dropDuplicatesWithinWatermark`, Python, pandas and Arrow UDFs,
  `mapInPandas`, `mapInArrow`, `millstream.process`, `millstream.flat_map`.
- **Sources:** {sources}, and any Python Data Source with a stream reader.
- **Sinks:** {sinks}, and any Python Data Source with a stream writer.
- **On Structured Streaming:** stream-stream joins, sorting, limits, `applyInPandasWithState`, `transformWithState`,
  tables as sinks, sources and file systems not named here.

## Expressions

`scalar` is generated Python, `vector` is DuckDB. A mark means that the kernel was compared with Spark's batch
answer, to the last bit; a vector kernel may also refuse a batch, which then goes to the scalar one.

| Spark's class | SQL functions | scalar | vector |
|---|---|---|---|
"""

TAIL = """
## Aggregate functions

Written by hand, with partial aggregation: {aggregates}. Every other aggregate function that Spark itself defines
by expressions (first, last, variance, corr, max_by, bit_and, ...) follows that definition. Distinct aggregates of one
column are native too, although Spark has none in streams.

## Generators

{generators}
"""


def page(names):
    """The page; `names` are the SQL functions of each class."""
    from millstream.io.registry import SINKS, SOURCES

    def code(words):
        return ", ".join(f"`{word}`" for word in sorted(words))

    rows = []
    for op in sorted(FUNCTIONS):
        marks = " | ".join("✓" if op in COVERED[kernel] else "" for kernel in ("scalar", "vector"))
        rows.append(f"| {op} | {code(names.get(op, ()))} | {marks} |")
    return (
        HEAD.format(sources=code(SOURCES), sinks=code(SINKS))
        + "\n".join(rows)
        + "\n"
        + TAIL.format(aggregates=code(AGGREGATES), generators=code(GENERATORS))
    )
