"""Keys that all user interfaces share."""

LABELS = "abcdefgijklmortvwxyz1234567890"
"""Keys of the cards in hand: digits and letters without another function."""
