"""Short training scripts and a server: docs/libraries.md."""
