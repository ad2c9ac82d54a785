"""What the games have in common."""
