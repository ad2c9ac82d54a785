"""Shared by the training scripts: options, checkpoints, evaluation, learning curves, opponents."""
