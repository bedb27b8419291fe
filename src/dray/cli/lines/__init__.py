"""Input lines to records, and records to output lines; pure."""
