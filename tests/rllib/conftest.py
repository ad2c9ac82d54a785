"""Tests of what runs on Ray, some on clusters of several nodes on one machine, as Ray's own utility makes them."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import pytest

MEMORY = 150 * 2**20
"""Bytes of a node's object store; without it each would take a third of the machine."""

os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Ray would report that it is used


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """RLlib registers environments of its own anew for every algorithm, whereupon Gymnasium warns."""
    for item in items:
        item.add_marker(pytest.mark.filterwarnings("ignore:.*Overriding environment rllib-:UserWarning"))


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    """A head of one core and a node of two, each with processes and ports of its own; nothing is connected yet."""
    from ray.cluster_utils import Cluster  # this file is read without Ray, too

    head = {"num_cpus": 1, "object_store_memory": MEMORY, "include_dashboard": False, "include_log_monitor": False}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    try:
        add_node(cluster)
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture
def lose(cluster: Any) -> Iterator[Callable[[], None]]:
    """Kills the node that is not the head, without a warning; the next test has another one."""

    def lose() -> None:
        (node,) = cluster.worker_nodes
        cluster.remove_node(node, allow_graceful=False)

    yield lose
    if not cluster.worker_nodes:
        add_node(cluster)


def add_node(cluster: Any) -> None:
    """One of two cores."""
    cluster.add_node(num_cpus=2, object_store_memory=MEMORY)
