"""Scripts for training and for benchmarks, run from a checkout; what they share is in `train.common`."""
