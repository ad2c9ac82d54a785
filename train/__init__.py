"""Scripts for training and for benchmarks, run from a checkout. They share `train.common`."""
