"""Networks in PyTorch, for training; they need the extra ``train``."""
