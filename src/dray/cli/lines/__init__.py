"""Lines of text to records and back, as `dray produce` reads and `dray consume` shows them. Pure."""
