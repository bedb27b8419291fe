"""Rendering: what commands print, as text and as JSON; pure."""
