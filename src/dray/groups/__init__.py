"""Consumer groups: the classic protocol, the consumer protocol (KIP-848), and the assignors. Pure."""
