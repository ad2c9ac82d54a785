"""One short training script for each library, each reading the masks as that library expects them: docs/libraries.md."""
