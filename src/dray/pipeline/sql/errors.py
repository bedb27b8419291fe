"""Why a query has no answer. What the stores and the log raise passes through as it is."""


class SqlError(Exception):
    """The query, or what it asks for, is wrong; the message is one line."""


class RowsMoved(SqlError):
    """Objects were rewritten and deleted under the query, again and again or after its first rows."""
