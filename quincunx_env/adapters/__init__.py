"""One page for each library that wants the environments in a form of its own; each imports its library itself."""
