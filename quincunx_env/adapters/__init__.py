"""Adapters to other libraries, one module each, which imports its library."""
