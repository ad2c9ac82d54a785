"""Networks for inference with NumPy alone, and their weights."""
