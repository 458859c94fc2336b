"""File formats that the file sink writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql.types import StringType, StructType

from millstream.errors import InvalidOption
from millstream.io.filesink import FileSink, FileWriter
from millstream.io.options import Given
from millstream.kernels.batch import Batch
from millstream.kernels.functions.json_output import writer as json_writer
from millstream.plan.algebra import Unsupported

PARQUET_CODECS = {"snappy": ".snappy", "gzip": ".gz", "zstd": ".zstd", "none": "", "uncompressed": ""}


@dataclass(frozen=True)
class ParquetWriter:
    """Parquet, with the schema in Spark's own words beside Parquet's."""

    codec: str = "snappy"

    @property
    def suffix(self) -> str:
        return f"{PARQUET_CODECS[self.codec]}.parquet"

    def write(self, batch: Batch, path: str) -> None:
        names = {b"org.apache.spark.sql.parquet.row.metadata": batch.schema.json().encode()}
        codec = "none" if self.codec == "uncompressed" else self.codec
        pq.write_table(batch.arrow.replace_schema_metadata(names), path, compression=codec, store_schema=False)


@dataclass(frozen=True)
class TextWriter:
    """One column of strings, a line each; a null is an empty line."""

    separator: str = "\n"
    suffix = ".txt"

    def write(self, batch: Batch, path: str) -> None:
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.writelines([(value or "") + self.separator for (value,) in batch.rows])


@dataclass(frozen=True)
class JsonWriter:
    """A JSON object a line, as `to_json` writes it: nulls are left out unless `ignoreNullFields` is false."""

    options: Mapping[str, str]
    zone: str
    suffix = ".json"

    def write(self, batch: Batch, path: str) -> None:
        text = json_writer(batch.schema, self.options, self.zone)
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.writelines([f"{text(row)}\n" for row in batch.rows])


def file_sink(format: str, options: Mapping[str, Any], schema: StructType, spark: Any) -> FileSink:
    """The sink of one of the file formats."""
    by: Sequence[str] = tuple(options.get("partitionBy", ()))
    given = Given(format, {name: value for name, value in options.items() if name != "partitionBy"})
    path = given.required("path")
    writer: FileWriter
    if format == "parquet":
        given.check_supported(("path", "compression"))
        codec = given.text("compression", spark.conf.get("spark.sql.parquet.compression.codec")).lower()
        if codec not in PARQUET_CODECS:
            raise Unsupported(f"parquet compression {codec}", "it is not written natively")
        writer = ParquetWriter(codec)
    elif format == "json":
        given.check_supported(("path", "ignoreNullFields", "timeZone"))
        settings = {name: given.text(name, "") for name in ("ignorenullfields", "timezone") if name in given}
        writer = JsonWriter(settings, spark.conf.get("spark.sql.session.timeZone"))
        json_writer(schema, settings, writer.zone)  # what it can't write is said now
    else:
        given.check_supported(("path", "lineSep"))
        if [f.dataType for f in schema if f.name not in by] != [StringType()]:
            raise InvalidOption(f"text files have one column, of strings; these rows are {schema.simpleString()}")
        writer = TextWriter(given.text("lineSep", "\n"))
    return FileSink(spark, schema, writer, path, by)
