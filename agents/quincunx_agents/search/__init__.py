"""Search with determinization: hidden cards are sampled, and each sampled game is evaluated as if known."""
