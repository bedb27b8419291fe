"""One generated module for each API: its messages, and what is known about it."""
