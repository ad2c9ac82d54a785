"""One short training script for each library: docs/recipes.md. Each reads the masks as that library expects them."""
