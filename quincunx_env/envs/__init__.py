"""Environments for Gymnasium and PettingZoo, and many games for several players in one batch."""
