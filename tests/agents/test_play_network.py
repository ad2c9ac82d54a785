"""The small network reads the vector by names, and is a policy of MaskablePPO."""

import sys
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from quincunx_agents.torch import PlayNetwork  # noqa: E402
from quincunx_env import Rules, make_observer, spiral  # noqa: E402
from quincunx_env.arena import Deals, evaluate  # noqa: E402
from quincunx_env.core.observation import Observer  # noqa: E402
from quincunx_env.quincunx.observation import PREVIEW_UNIT  # noqa: E402
from quincunx_env.spiral.observation import PREVIEW_UNIT as SPIRAL_UNIT  # noqa: E402
from tests.clients.clients import PLAY_POLICY  # noqa: E402

RULES = [Rules(), Rules(num_players=2), Rules(num_players=3, start="open"), spiral.Rules()]


def positions(observer: Observer, plies: int = 5, games: int = 8) -> Any:
    """A batch after some random plies."""
    batch, rng = observer.make_batch(games), np.random.default_rng(0)
    batch.reset(range(games))
    for _ in range(plies):
        batch.step(np.array([rng.choice(np.flatnonzero(mask)) for mask in batch.mask]))
    return batch


def vectors(observer: Observer, batch: Any) -> Any:
    return torch.from_numpy(observer.vector_batch(batch, None, by_place=True))


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_the_logit_of_a_play_grows_with_its_points(rules: Any) -> None:
    """Without its last layer the network returns the preview of each legal play, at the number of its action."""
    observer = make_observer(rules, preview=True)
    network, batch = PlayNetwork(observer), positions(observer)
    for parameter in network.score[-1].parameters():
        torch.nn.init.zeros_(parameter)
    logits, values = network(vectors(observer, batch))
    assert values.shape == (len(logits),)
    scores = observer.places.to_joint_scores(logits.detach().numpy(), batch.mask)
    preview = observer.observe_batch(batch)["preview"][..., 0].reshape(len(scores), -1)
    unit = SPIRAL_UNIT if rules.game == "spiral" else PREVIEW_UNIT
    assert preview[batch.mask].any()
    assert scores[batch.mask] * unit == pytest.approx(preview[batch.mask], abs=1e-4)
    assert (logits != 0).any()
    assert np.isinf(scores[~batch.mask]).sum() > 0


def test_a_card_counts_for_the_cells_near_it() -> None:
    """Without the summary a card changes the plays one and two cells away in its row and column, and no others."""
    observer = make_observer(Rules(num_players=2), preview=True)
    network, side = PlayNetwork(observer), 5
    for parameter in network.context.parameters():
        torch.nn.init.zeros_(parameter)
    seen = vectors(observer, positions(observer, plies=0))[:1]
    changed = seen.clone()
    faces = network.slices["board"].start + np.arange(16)  # rank and suits of the card in the corner
    changed[:, faces] = 1 - seen[:, faces]
    with torch.no_grad():
        difference = (network(seen)[0] != network(changed)[0])[0].unflatten(0, (-1, side, side)).any(0)
    assert difference.nonzero().tolist() == [[0, 1], [0, 2], [1, 0], [2, 0]]


def test_games_do_not_affect_each_other() -> None:
    observer = make_observer(Rules(), preview=True)
    network, seen = PlayNetwork(observer), vectors(observer, positions(observer))
    with torch.no_grad():
        together, alone = network(seen), network(seen[3:4])
    for some, one in zip(together, alone, strict=True):
        torch.testing.assert_close(some[3:4], one, atol=1e-4, rtol=1e-4)


def trained(environment: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The variables of the printed program after a short run with 8 games."""
    pytest.importorskip("sb3_contrib")
    monkeypatch.setattr(sys, "argv", ["", environment, "192"])
    variables: dict[str, Any] = {"__name__": "program"}
    exec(PLAY_POLICY.replace("256", "8").replace("51_200", "96"), variables)
    return variables


def test_the_program_trains_the_network_in_the_solitaire(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its games refuse illegal actions."""
    variables = trained("SolitaireVecEnv", monkeypatch)
    assert all(weights.isfinite().all() for weights in variables["model"].policy.parameters())
    assert evaluate(variables["agent"], Deals(2, "validation")).scores.shape == (2,)
    assert variables["pool"] == []


def test_the_program_plays_against_its_past(monkeypatch: pytest.MonkeyPatch) -> None:
    """Snapshots do not learn any more."""
    variables = trained("VsOpponentsVecEnv", monkeypatch)
    greedy, *snapshots = variables["pool"]
    assert greedy == "greedy"
    assert variables["games"].envs.opponents.policies[1:] == snapshots
    observer = variables["codec"].observer
    seen = vectors(observer, positions(observer))
    first, second = (each.logits(seen) for each in snapshots)
    assert (first != second).any()


@pytest.mark.parametrize(
    ("rules", "preview"), [(Rules(), False), (Rules(num_players=2, simpleton=True), True)], ids=["preview", "Simpleton"]
)
def test_the_network_needs_the_preview_and_rules_without_simpleton(rules: Rules, preview: bool) -> None:
    with pytest.raises(ValueError, match="needs the preview, and rules without Simpleton"):
        PlayNetwork(make_observer(rules, preview=preview))
