"""Short training scripts and a server: docs/recipes.md."""
