"""What the training scripts have in common."""
