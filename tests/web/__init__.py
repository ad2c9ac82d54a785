"""Pages in a browser: `.ci/run web`."""
