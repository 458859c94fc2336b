"""Functions over Arrow or pandas batches, run by the very code that Spark's Python workers run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType
from pyspark.util import PythonEvalType
from pyspark.worker import EvalConf, RunnerConf, read_udfs
from pyspark.worker_message import UDFInfo
from pyspark.worker_util import pickleSer

from millstream.kernels.udf_code import failing, names_of, register_broadcasts
from millstream.plan.algebra import PythonFunction

MAPS = (PythonEvalType.SQL_MAP_PANDAS_ITER_UDF, PythonEvalType.SQL_MAP_ARROW_ITER_UDF)


class Worker:
    """What a Python worker of Spark's does between its sockets."""

    def __init__(
        self,
        functions: Sequence[PythonFunction],
        offsets: Sequence[Sequence[int]],
        schema: StructType,
        kind: int,
        conf: RunnerConf,
    ) -> None:
        self._names = names_of(functions)
        self._rows = conf.arrow_max_records_per_batch
        self._input = to_arrow_schema(schema, timezone=conf.timezone, prefers_large_types=conf.use_large_var_types)
        self._run = self._load(functions, offsets, schema, kind, conf)

    def _load(
        self,
        functions: Sequence[PythonFunction],
        offsets: Sequence[Sequence[int]],
        schema: StructType,
        kind: int,
        conf: RunnerConf,
    ) -> Callable[[int, Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
        infos = []
        for function, places in zip(functions, offsets):
            register_broadcasts(function.broadcasts)
            positional = len(places) - len(function.keywords)
            infos.append(
                UDFInfo(
                    udfs=[memoryview(command) for command in function.commands],
                    args=list(places[:positional]),
                    kwargs=dict(zip(function.keywords, places[positional:])),
                    result_id=0,
                )
            )
        with failing(self._names, "can't be unpickled on the slot; is everything that it imports installed there?"):
            run: Any = read_udfs(pickleSer, infos, kind, conf, EvalConf({"input_type": schema.json()}))[0]
        return run  # type: ignore[no-any-return]

    def __call__(self, table: pa.Table) -> list[pa.RecordBatch]:
        """The batches that come out."""
        table = pa.Table.from_arrays(table.columns, names=self._input.names).cast(self._input)
        batches = table.combine_chunks().to_batches(max_chunksize=self._rows if self._rows > 0 else None)
        with failing(self._names, "failed"):
            return list(self._run(0, iter(batches)))
