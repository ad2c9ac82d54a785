"""Programs of other libraries with the ids of this package; `make test-clients` runs them."""
