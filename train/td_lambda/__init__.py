"""TD(lambda) on the values of afterstates: alone, in self-play, or against opponents."""
