"""Consumer groups as pure state machines; `machine` is the place to start reading."""
