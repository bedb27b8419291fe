"""Command line: commands, rendering and terminal I/O."""
