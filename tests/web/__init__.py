"""Pages in a browser: `make test-web`."""
