"""Scripts that train agents and measure speed, each one file to be read from top to bottom."""
