"""Scripts for training and for benchmarks, run from a checkout; `train.common` is shared by them."""
