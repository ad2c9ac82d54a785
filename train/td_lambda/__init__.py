"""TD(lambda) on the values of afterstates, alone or in self-play."""
