"""Policies of vectors, of places of the hand and of padded observations: they see what their environment shows."""

import pickle
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quincunx_agents.uniform import uniform
from quincunx_env import VsOpponentsVectorEnv
from quincunx_env.arena import Deals
from quincunx_env.arena.matches import MatchConfig, play_matches
from quincunx_env.cli import main
from quincunx_env.codec import Codec
from quincunx_env.core.policy import policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.policies import (
    EncodedPolicy,
    Encoding,
    ModelOptions,
    by_display_name,
    definition,
    display_name,
    identity,
    resolve,
)
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer
from quincunx_env.spiral import Rules as SpiralRules

OPTIONS = [
    Encoding(observation="vector"),
    Encoding(observation="vector", preview=True, actions="hand"),
    Encoding(observation="vector", actions="hand", padded=True),
    Encoding(preview=True, padded=True),
    Encoding(actions="hand"),
    Encoding(observation="vector", mask_in="obs"),
]


def last(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
    """The last legal action of the environment."""
    return np.where(mask, np.arange(mask.shape[1]), -1).argmax(axis=1)


def values(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
    return np.where(mask, np.arange(mask.shape[1]), -np.inf)


@pytest.mark.parametrize("encoding", OPTIONS, ids=str)
@pytest.mark.parametrize("rules", [Rules(), Rules(num_players=3, start="open", simpleton=True), SpiralRules()], ids=str)
def test_it_sees_what_its_environment_shows(rules: BaseRules, encoding: Encoding) -> None:
    """And its actions and values mean the same."""
    if encoding.padded and isinstance(rules, SpiralRules):
        pytest.skip("the spiral game has no padded observations")
    shown: list[Any] = []

    def policy(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        shown[:] = observation, mask
        return last(observation, mask, rng)

    policy.action_values = values  # type: ignore[attr-defined]
    decoded: Any = EncodedPolicy(policy, **encoding.options).for_rules(rules)
    codec = Codec(rules, **replace(encoding, observation=encoding.observation or "pieces").options)
    observer, rng = make_observer(rules, decoded.preview), np.random.default_rng(0)
    batch = observer.make_batch(3)
    batch.reset(seed=5)
    for _ in range(6):
        seen, mask = observer.observe_batch(batch), batch.mask
        actions = decoded(seen, mask, rng)
        observation, legal = shown
        np.testing.assert_equal(observation, codec.with_mask(codec.of_batch(batch), legal))
        assert (legal == codec.masks(batch)).all()
        assert (actions == codec.decode_actions(last(observation, legal, rng), ~batch.over, batch)).all()
        assert (decoded.action_values(seen, mask, rng).argmax(axis=1) == actions).all()
        batch.step(actions)


@pytest.fixture
def my_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module of a user, whose policy reads vectors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    source = """
    from quincunx_env.policies import EncodedPolicy
    def policy(vectors, mask, rng):
        assert vectors.dtype == "float32" and mask.shape[1] == 160, vectors.shape
        return mask.argmax(axis=1)
    agent = EncodedPolicy(policy, observation="vector", actions="hand")
    """
    (tmp_path / "its_module.py").write_text("\n".join(line[4:] for line in source.splitlines()))
    monkeypatch.delitem(sys.modules, "its_module", raising=False)
    return "its_module"


def test_options_of_the_command_line_are_of_policies_in_modules(
    my_module: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Registered policies and policies that say themselves what they read keep it; files have their options beside."""
    read = ["--observation", "vector", "--actions", "hand"]
    policies = [f"one={my_module}:policy", f"two={my_module}:agent", "uniform"]
    main(["evaluate", *policies, *read, "--deals", "6", "--workers", "1"])
    rows = [line.split("|")[2:] for line in capsys.readouterr().out.splitlines() if line.startswith(("| one", "| two"))]
    assert rows[0] == rows[1]
    [found] = by_display_name([f"one={my_module}:policy"], encoding=ModelOptions(observation="vector")).values()
    assert isinstance(found, EncodedPolicy)
    assert display_name(found) == f"{my_module}:policy"
    assert f"policy={my_module}:policy" in definition(found)
    assert identity(found) != identity(resolve(f"{my_module}:policy")) is not None
    assert pickle.loads(pickle.dumps(found)) == found


@pytest.mark.parametrize(
    ("option", "value"), [("observation", "text"), ("actions", "cards"), ("mask_in", "both"), ("preview", 1)]
)
def test_a_wrong_option_is_refused(option: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"^{option} must be one of .*, got {value!r}"):
        EncodedPolicy(last, **{option: value})


@pytest.mark.parametrize("encoding", [None, *OPTIONS], ids=str)
@pytest.mark.parametrize("wrong", [5, [1, 2], np.zeros((3, 1), int), np.zeros(3)], ids=str)
def test_one_integer_for_each_position_is_needed(encoding: Encoding | None, wrong: Any) -> None:
    """One action is not broadcast over several games, in joint actions or by place of the hand."""

    def policy(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
        return wrong

    agent: Any = policy if encoding is None else EncodedPolicy(policy, **encoding.options)
    with pytest.raises(ValueError, match=r"^the policy .*: 3 integer actions are needed, got"):
        play_matches([agent], np.array([[0]]), MatchConfig(Rules(), Deals(3)), 0)


def test_a_policy_of_vectors_is_told_how_to_get_them() -> None:
    """In one line, whatever it does with the dictionary."""
    weights = np.zeros(9)
    for policy in (
        lambda observation, mask, rng: observation @ weights,
        lambda observation, mask, rng: observation[:, :9].argmax(axis=1),
        lambda observation, mask, rng: observation.reshape(-1),
    ):
        with pytest.raises(ValueError, match=r"cannot read the pieces .*EncodedPolicy\(policy, observation='vector'\)"):
            play_matches([policy], np.array([[0]]), MatchConfig(Rules(), Deals(3)), 0)


def test_policies_that_do_not_read_the_preview_do_not_cost_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither in the arena nor as opponents; others get it."""
    rules, seen = Rules(num_players=2), set[tuple[str, bool]]()

    def named(name: str, preview: bool) -> Any:
        def policy(observation: Any, mask: Any, rng: np.random.Generator) -> Any:
            seen.add((name, "preview" in observation))
            return uniform(observation, mask, rng)

        policy.preview = preview  # type: ignore[attr-defined]
        return policy

    one, other = named("one", False), named("other", True)
    play_matches([one, other], np.array([[0, 1]]), MatchConfig(rules, Deals(2)), 0)
    for opponents in (one, other):
        VsOpponentsVectorEnv(2, opponents=opponents, seat=1).reset(seed=0)
    assert seen == {("one", False), ("other", True)}
    assert not policy_for(EncodedPolicy(last, observation="vector"), rules).preview  # type: ignore[attr-defined]
