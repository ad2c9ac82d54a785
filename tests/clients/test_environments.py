"""No program of a library is skipped in every environment of `make test-clients`."""

import pytest

from tests.clients.clients import CLIENTS, Client
from tests.clients.test_clients import ROOT


def pinned(path: str) -> set[str]:
    lines = (ROOT / "constraints" / path).read_text().splitlines()
    return {line.split("==")[0].lower().replace("_", "-") for line in lines if "==" in line}


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_program_has_an_environment(client: Client) -> None:
    """That of RLlib runs the programs of RLlib alone."""
    others = ["default.txt", "clients-agilerl.txt", "clients-jax.txt", "openspiel.txt"]
    paths = ["rllib.txt"] if "RLlib" in client.name else others
    needed = {package.lower().replace("_", "-") for package in client.packages}
    assert any(needed <= pinned(path) for path in paths)
