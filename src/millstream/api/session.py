"""A local Spark session with room for slots and for the user's own jobs."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession


def local_session(slots: int = 2, *, name: str = "millstream", **config: str) -> SparkSession:
    """Start (or get) a SparkSession on this machine with room for `slots` slots and two jobs beside them.

    Further keyword arguments are Spark's settings, with underscores for dots.

    >>> spark = local_session(slots=2, spark_ui_enabled="false")
    >>> spark.range(3).count()
    3
    """
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = (
        SparkSession.builder.appName(name)
        .master(f"local[{slots + 2}]")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", str(slots))
    )
    for key, value in config.items():
        builder = builder.config(key.replace("_", "."), value)
    return builder.getOrCreate()
