"""Tables: the port, the Iceberg adapter, and a catalogue in memory for simulation."""
