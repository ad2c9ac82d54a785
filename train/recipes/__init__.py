"""One short training script for each library, reading masks as that library expects them: docs/recipes.md."""
