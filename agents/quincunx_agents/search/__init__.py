"""Search with determinization: sampled hidden cards, evaluated as if they were known."""
