"""Self-play on more than one device and machine: actors play, one process learns (docs/cluster.md)."""
