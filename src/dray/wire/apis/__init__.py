"""Generated modules, one for each API: its messages, and what is known about it."""
