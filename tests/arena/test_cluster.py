"""Addresses of Ray clusters are checked before Ray tries for minutes; tests/rllib connects to clusters."""

import socket
import time

import pytest

from quincunx_env.arena import cluster
from quincunx_env.arena.cluster import require_cluster


def test_an_address_where_no_cluster_answers_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing listens, no such port, no such host, a program that closes the connection, one that is silent."""
    monkeypatch.setattr(cluster, "TIMEOUT", 0.2)
    start = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        for address in (f"127.0.0.1:{port}", f"ray://127.0.0.1:{port}", "127.0.0.1:1", "127.0.0.1:99999", "[::1]:1"):
            with pytest.raises(ConnectionError, match=r"no Ray cluster answers at .* within 0 seconds .*ray start"):
                require_cluster(address)
    assert time.monotonic() - start < 5


def test_addresses_without_a_port() -> None:
    for address in ("auto", "local"):
        require_cluster(address)
    with pytest.raises(ConnectionError, match="must be auto, local or host:port, got 'nonsense'"):
        require_cluster("nonsense")
