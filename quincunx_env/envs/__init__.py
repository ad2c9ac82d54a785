"""Environments for Gymnasium and PettingZoo, and batches of games for several players."""
