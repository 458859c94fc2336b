"""What can go wrong, and what to do about it: every error that a user may see derives from one."""


class MillstreamError(Exception):
    """The base of all errors that Millstream raises on purpose."""


class InvalidOption(MillstreamError, ValueError):
    """An option's name or value is wrong; the text names the valid ones."""


class NotEnoughCores(MillstreamError):
    """The cluster has no core for a slot beside the one that the user's own jobs need."""


class NotShippable(MillstreamError):
    """A stage's code can't be pickled; the text names the stage."""


class QueryFailed(MillstreamError):
    """A query has ended with an error, such as an exception in a user's function."""


class DataError(MillstreamError, ArithmeticError):
    """A row for which Spark raises an error too, such as a division by zero; it begins with Spark's error class."""


class UnsupportedQuery(MillstreamError):
    """A query that Millstream can't run itself, although the option `engine` forbids Structured Streaming."""


class StateLost(QueryFailed):
    """A slot died with keyed state that no checkpoint holds."""


class SlotsUnavailable(QueryFailed):
    """Spark starts no slot, or the slots that it starts can't reach the driver."""


class FunctionFailed(MillstreamError):
    """A user's Python function has raised an error, or has returned what doesn't fit its declared type."""
