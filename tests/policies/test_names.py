"""Policies by name: entry points of this package and of others, and strings ``module:attribute``."""

import copy
import pickle
import re
import sys
from collections.abc import Callable, Iterator
from importlib import invalidate_caches
from pathlib import Path
from textwrap import dedent
from typing import Any

import gymnasium
import numpy as np
import pytest

from quincunx_agents.greedy import greedy
from quincunx_agents.heuristic import Heuristic
from quincunx_agents.uniform import uniform
from quincunx_env import Rules, spiral
from quincunx_env.arena import compare, evaluate
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.play.session import Session, adviser_name, seat_players
from quincunx_env.policies import by_display_name, display_name, files, names, registered_policies, resolve
from quincunx_env.registry import make_observer

Install = Callable[..., None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Puts a distribution with policies on the path, as an installer would; imported modules are dropped afterwards."""
    made: list[str] = []

    def install(name: str, policies: dict[str, str], **modules: str) -> None:
        folder = tmp_path / name
        metadata = folder / f"{name}-1.0.dist-info"
        metadata.mkdir(parents=True)
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        entries = "".join(f"{policy} = {target}\n" for policy, target in policies.items())
        (metadata / "entry_points.txt").write_text(f"[quincunx_env.policies]\n{entries}")
        for module, source in modules.items():
            (folder / f"{module}.py").write_text(dedent(source))
            made.append(module)
        monkeypatch.syspath_prepend(str(folder))
        invalidate_caches()

    yield install
    for module in made:
        sys.modules.pop(module, None)


FIRST = """
def first(observation, mask, rng):
    return mask.argmax(axis=1)
"""


def test_a_policy_of_another_package_is_found_everywhere(install: Install) -> None:
    install("other_package", {"other-first": "other_module:first"}, other_module=FIRST)
    assert "other-first" in registered_policies()
    assert "other_module" not in sys.modules, "listing policies imports none"
    policy = resolve("other-first")
    assert policy is resolve("other_module:first")
    assert (evaluate("other-first", 4).scores == evaluate(policy, 4).scores).all()
    assert compare(["other-first", "uniform"], 2).names == ("other-first", "uniform")
    rules = Rules(num_players=2)
    played = Session(rules, seat_players(rules, opponents=["other-first"]), adviser=adviser_name(rules, "other-first"))
    assert played.names == ("human", "other-first")
    assert next(played.hints()).action == min(play.action for play in played.candidates())


def test_a_policy_that_cannot_be_imported_is_named_and_affects_no_other(install: Install) -> None:
    install("broken_package", {"broken": "broken_module:policy"}, broken_module="import no_such_library\n")
    assert {"broken", "greedy", "uniform"} <= registered_policies().keys()
    message = (
        "policy 'broken', offered by broken_package 1.0 (broken_module:policy), cannot be imported: "
        "ModuleNotFoundError: No module named 'no_such_library'"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve("broken")
    assert resolve("greedy") is greedy


def test_a_name_offered_twice_is_refused_and_affects_no_other(install: Install) -> None:
    install("one_package", {"twice": "one_module:first", "alike": "one_module:first"}, one_module=FIRST)
    install("two_package", {"twice": "two_module:first", "alike": "one_module:first"}, two_module=FIRST)
    with pytest.raises(
        ValueError, match=r"two packages offer a policy named 'twice': .*(one|two)_module.* and .*_module"
    ):
        resolve("twice")
    assert resolve("alike") is resolve("one_module:first")
    assert resolve("two_module:first") is not resolve("one_module:first")
    assert resolve("uniform") is uniform
    assert "twice" in registered_policies()


def test_a_library_that_an_agent_of_the_package_lacks_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "safetensors", None)
    for module in ("networks.value", "networks.weights_io"):
        monkeypatch.delitem(sys.modules, f"quincunx_agents.{module}", raising=False)
    with pytest.raises(
        ValueError, match=r"policy 'value', .* needs safetensors: pip install \"quincunx_env\[arena\]\""
    ):
        resolve("value")


def test_unknown_policies_are_refused() -> None:
    for name, message in (
        ("no-such", "unknown policy 'no-such'; registered policies: greedy, .*uniform.*; .*'module:attribute'"),
        ("x" * 300, "unknown policy 'x{219}; registered"),
        ("x" * 300 + ".zip", "there is no policy file x{220}$"),
        ("no.such.module:policy", "cannot be imported: ModuleNotFoundError: No module named 'no'"),
        ("quincunx_agents.greedy:gready", "no attribute 'gready'"),
        ("quincunx_env.quincunx.rules:OPEN_SPAN", "is 5: a function or an instance is needed"),
        ("quincunx_env.quincunx.rules:Rules", "a function or an instance is needed"),
    ):
        with pytest.raises(ValueError, match=message):
            resolve(name)
    unusable: Any
    for unusable in (3, Rules, None):
        message = f"^{re.escape(repr(unusable))} is not a policy: a function or an instance"
        with pytest.raises(ValueError, match=message):
            resolve(unusable)


ONE, TWO, SPIRAL = Rules(), Rules(2, simpleton=True), spiral.Rules()


@pytest.mark.parametrize(
    ("name", "rules"),
    [(name, rules) for name in registered_policies() for rules in (ONE, TWO, SPIRAL)],
    ids=str,
)
def test_the_copy_of_a_policy_chooses_the_same_actions(name: str, rules: BaseRules) -> None:
    pytest.importorskip("safetensors")
    policy = policy_for(resolve(name), rules)
    observer = make_observer(rules, preview=True)
    games = observer.make_batch(1)
    games.reset(seed=0)
    while games.ply[0] < rules.num_plays - 3:
        games.step(greedy(observer.observe_batch(games), games.mask, np.random.default_rng(0)))
    observation, mask = observer.observe_batch(games), games.mask
    assert not games.over.any()
    copies = [policy, copy.deepcopy(policy), pickle.loads(pickle.dumps(policy))]
    expected, *found = [each(observation, mask, np.random.default_rng(1)).tolist() for each in copies]
    assert found == [expected, expected]


def test_display_names() -> None:
    policies: list[Agent | str] = ["greedy", "mine=quincunx_agents.greedy:greedy", uniform]
    assert resolve(greedy) is greedy
    assert (display_name("greedy"), display_name(uniform)) == ("greedy", "uniform")
    assert display_name(Heuristic()) == "Heuristic"
    mine: dict[str, Agent | str] = {"greedy": "greedy", "mine": "quincunx_agents.greedy:greedy", "uniform": uniform}
    assert by_display_name(policies) == by_display_name(mine) == mine
    with pytest.raises(ValueError, match="two policies are called 'greedy'"):
        by_display_name(["greedy", greedy])
    with pytest.raises(ValueError, match=r"several policies are needed, got the string 'greedy': give a list"):
        by_display_name("greedy")
    for name in ("a | b", "a\nb", "a" * 1001):
        for named in [f"{name}=quincunx_agents.greedy:greedy"], {name: "greedy"}:
            with pytest.raises(ValueError, match=r"^the name of a policy is text of 1 to 1000 printable characters"):
                by_display_name(named)
    assert [len(name) for name in ("", "a", "a" * 1000) if names.is_name(name)] == [1, 1000]


def test_without_an_installation_the_way_to_one_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """As with ``PYTHONPATH`` alone: there are no entry points."""
    files.readers.cache_clear()
    for module in (files, names):
        monkeypatch.setattr(module, "entry_points", lambda **_: ())
    (tmp_path / "mine.zip").touch()
    try:
        for policy in ("greedy", str(tmp_path / "mine.zip")):
            with pytest.raises(ValueError, match=r"quincunx_env is not installed, so .*: pip install /"):
                resolve(policy)
        with pytest.raises(ValueError, match="quincunx_env is not installed"):
            gymnasium.make("quincunx_env:Quincunx/VsOpponents-v0")
        assert resolve("quincunx_agents.greedy:greedy") is greedy
    finally:
        files.readers.cache_clear()
