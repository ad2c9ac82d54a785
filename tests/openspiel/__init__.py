"""Tests of the OpenSpiel adapter; they need OpenSpiel, which `make test-openspiel` installs."""
