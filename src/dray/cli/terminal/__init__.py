"""Terminal: input, output and argument types of commands."""
