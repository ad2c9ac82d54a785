"""Expert iteration: a network learns what a search with it finds."""
