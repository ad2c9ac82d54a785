"""Programs of other libraries with our ids; `make test-clients` installs the libraries and writes the table of results."""
