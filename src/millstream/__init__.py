"""PySpark streaming queries in milliseconds, on the Spark cluster that you already have."""

__version__ = "0.1.0"
