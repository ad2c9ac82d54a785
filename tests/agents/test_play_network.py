"""The network that scores plays reads the vector by names, and is a policy of MaskablePPO."""

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


def drawn(network: PlayNetwork) -> PlayNetwork:
    """The network with weights of which none is 0."""
    for parameter in network.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return network


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_before_learning_the_logit_of_a_play_is_its_points(rules: Any) -> None:
    """They stand at the number of its action."""
    observer = make_observer(rules, preview=True)
    network, batch = PlayNetwork(observer), positions(observer)
    logits, values = network(vectors(observer, batch))
    assert logits.shape == (len(values), network.actions)
    scores = observer.places.to_joint_scores(logits.detach().numpy(), batch.mask)
    preview = observer.observe_batch(batch)["preview"][..., 0].reshape(len(scores), -1)
    unit = SPIRAL_UNIT if rules.game == "spiral" else PREVIEW_UNIT
    assert preview[batch.mask].any()
    assert scores[batch.mask] * unit == pytest.approx(preview[batch.mask], abs=1e-4)
    assert np.isinf(scores[~batch.mask]).sum() > 0


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_logits_rise_with_the_bias_of_cards_and_with_four_numbers_of_a_play(rules: Any) -> None:
    """Points, draws, and by how much the points exceed another play's in the cell, or of the card; 0 is another."""
    observer = make_observer(rules, preview=True)
    network, batch = drawn(PlayNetwork(observer)), positions(observer, plies=2)
    seen, places, cells = vectors(observer, batch), observer.places.places, observer.places.cells
    shown = seen[:, network.slices["preview"]].unflatten(1, (places, cells, 2)).numpy()
    points = shown[..., 0]
    over = np.empty((2, *points.shape))
    for index in np.ndindex(points.shape):
        game, place, cell = index
        in_cell, of_card = np.delete(points[game, :, cell], place), np.delete(points[game, place], cell)
        over[(slice(None), *index)] = points[index] - [max([0, *others]) for others in (in_cell, of_card)]

    def raised(layer: str, output: int) -> Any:
        """How the logits change if the bias of an output rises by 1."""
        bias: Any = getattr(network, layer).bias
        with torch.no_grad():
            before = network(seen)[0]
            bias[output] += 1
            after = network(seen)[0]
            bias[output] -= 1
        return (after - before).reshape(points.shape)

    assert raised("bias", 0) == pytest.approx(np.ones_like(points), abs=1e-4)
    for output, expected in enumerate([points, shown[..., 1], *over]):
        assert raised("gain", output) == pytest.approx(expected, abs=1e-4)
        assert output == 1 or expected.any(), "no play of the spiral game draws"


def test_a_card_counts_for_the_cells_near_it() -> None:
    """Without the summary a card changes the plays one and two cells away in its row and column, and no others."""
    observer = make_observer(Rules(num_players=2), preview=True)
    network, side = PlayNetwork(observer), 5
    torch.nn.init.normal_(network.cell_query.weight)  # those of the summary stay 0
    seen = vectors(observer, positions(observer, plies=0))[:1]
    changed = seen.clone()
    faces = network.slices["board"].start + np.arange(16)  # rank and suits of the card in the corner
    changed[:, faces] = 1 - seen[:, faces]
    with torch.no_grad():
        difference = (network(seen)[0] != network(changed)[0])[0].unflatten(0, (-1, side, side)).any(0)
    assert difference.nonzero().tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [2, 0]]


@pytest.mark.parametrize("rules", RULES, ids=str)
def test_all_of_the_vector_counts(rules: Any) -> None:
    """For the value; some of it through the summary alone."""
    observer = make_observer(rules, preview=True)
    network, seen = drawn(PlayNetwork(observer)), vectors(observer, positions(observer))
    seen.requires_grad_()
    network(seen)[1].sum().backward()
    for name, place in network.slices.items():
        assert seen.grad is not None
        assert seen.grad[:, place].any(), name


def test_games_do_not_affect_each_other() -> None:
    observer = make_observer(Rules(), preview=True)
    network, seen = drawn(PlayNetwork(observer)), vectors(observer, positions(observer))
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
