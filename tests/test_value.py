"""The value network: what it reads, what it answers, and its files."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("safetensors")

from safetensors.numpy import save_file

from agents import value as module
from agents.uniform import uniform
from agents.value import (
    SHIPPED,
    TOUCHING,
    WEIGHTS,
    ValueAgent,
    WeightsError,
    judge,
    load_weights,
    plays_of,
    save_weights,
    value,
    worth_of,
)
from quincunx_env.arena import evaluate
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules

GAMES = {"solitaire": Rules(), "contact": Rules(edge_contact=True), "two players": Rules(num_players=2)}
RNG = np.random.default_rng(0)


def positions(rules: Rules, plies: int, games: int = 6) -> Batch:
    """Games some random plays on."""
    batch, rng = Batch(rules, games), np.random.default_rng(plies)
    batch.reset(seed=plies)
    for _ in range(plies):
        batch.step(uniform({}, batch.mask(), rng) if not batch.over.any() else np.zeros(games, np.int64))
        batch.reset(rows=batch.over)
    return batch


@pytest.mark.parametrize("rules", GAMES.values(), ids=GAMES)
@pytest.mark.parametrize("plies", [0, 3, 8])
def test_describes_what_every_card_would_score(rules: Rules, plies: int) -> None:
    """The sums over unseen cards, made anew from the plain rules for one play of each position."""
    batch = positions(rules, plies)
    plays = plays_of(rules, Observer(rules, preview=True).observe_batch(batch), batch.mask())
    checked = 0
    for at, described in plays.judged:
        for number in range(0, len(at), 37):
            row, (card, cell) = plays.rows[at[number]], divmod(int(plays.actions[at[number]]), rules.num_cells)
            board = batch.board[row].tolist()
            board[cell] = card
            hand = batch.hands[row, batch.mover[row]]
            held = {card for card in range(36) if int(hand) >> card & 1}
            unseen = [card for card in range(36) if card not in held and card not in board]
            empty = [place for place in range(rules.num_cells) if board[place] == -1]
            scores = [[scoring.score(rules, board, place, other) for other in unseen] for place in empty]
            mean = [np.mean([score.points for score in of_cell]) for of_cell in scores]
            drawn = [np.mean([len(score.draws) for score in of_cell]) for of_cell in scores]
            assert described.cells[number, :, 6] * 5 == pytest.approx(mean, abs=1e-4)
            assert described.cells[number, :, 10] / 3 == pytest.approx(drawn, abs=1e-4)
            assert (described.cells[number, :, TOUCHING].sum(axis=1) == 1).all()
            checked += 1
    assert checked


def test_what_is_known_is_not_judged() -> None:
    """After the last play come the penalties; a lost round is worth nothing in all."""
    rules = Rules()
    batch, observer = Batch(rules, 300), Observer(rules, preview=True)
    batch.reset(seed=0)
    lost = ended = 0
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        live = batch.fork(rows)
        mask = live.mask()
        plays = plays_of(rules, observer.observe_batch(live), mask)
        known = ~np.isnan(plays.certain)
        assert known.sum() + sum(len(at) for at, _ in plays.judged) == len(known)
        actions = uniform({}, mask, RNG)
        chosen = plays.actions == actions[plays.rows]
        before = live.scores[:, 0].copy()
        drawn = live.drawn.copy()
        live.step(actions)
        for row in np.flatnonzero(known[chosen]):
            certain, points = plays.certain[chosen][row], plays.points[chosen][row]
            if live.lost[row]:
                assert before[row] + points + certain == 0
                lost += 1
            elif live.drawn[row] == drawn[row]:
                assert before[row] + points + certain == live.scores[row, 0]
                ended += 1
        assert (live.over == known[chosen]).all()
        batch.step(actions, rows)
    assert lost
    assert ended


@pytest.mark.parametrize("players", SHIPPED)
def test_shipped_weights_play_legally_and_repeat(players: int) -> None:
    rules = Rules(num_players=players, match=players > 1)
    batch, observer = Batch(rules, 8), Observer(rules, preview=True)
    batch.reset(seed=5)
    while not batch.over.all():
        rows = np.flatnonzero(~batch.over)
        live = batch.fork(rows)
        observation, mask = observer.observe_batch(live), live.mask()
        actions = value(observation, mask, RNG)
        one = {name: piece[-1:] for name, piece in observation.items()}
        assert value(one, mask[-1:], RNG) == actions[-1], "the other positions make no difference"
        batch.step(actions, rows)


def test_turning_the_grid_changes_no_worth() -> None:
    batch = positions(Rules(), 4)
    observer = Observer(Rules(), preview=True)
    turned = batch.fork(np.arange(batch.num_games))
    turn = np.rot90(np.arange(16).reshape(4, 4)).ravel()
    turned.board[:, :16] = batch.board[:, turn]
    turned.legal[:] = 0
    for cell in range(16):
        turned.legal[:, 0] |= (turned.board[:, cell] == -1).astype(np.uint64) << np.uint64(cell)
    _, weights = load_weights(WEIGHTS / f"{SHIPPED[1]}.safetensors")
    worths = []
    for each in (batch, turned):
        plays = plays_of(Rules(), observer.observe_batch(each), each.mask())
        table = np.zeros((each.num_games, 36, 16), np.float32)
        table.reshape(each.num_games, -1)[plays.rows, plays.actions] = plays.points + worth_of(weights, plays)
        worths.append(table)
    assert worths[0][:, :, turn] == pytest.approx(worths[1], abs=1e-3)


def test_refuses_other_games() -> None:
    simpleton = Rules(num_players=2, simpleton=True)
    for rules in (Rules(pawns=True), Rules(num_players=2, start="open"), simpleton, Rules(num_players=3)):
        batch = Batch(rules, 1)
        batch.reset(seed=0)
        with pytest.raises(ValueError, match="weights"):
            value(Observer(rules, preview=True).observe_batch(batch), batch.mask(), RNG)


def test_is_as_strong_as_it_should_be() -> None:
    result = evaluate(value, 200, domain="validation", chunk=100)
    assert result.mean > 132
    assert result.lost.mean() < 0.03


def test_weights_come_back_as_they_were_written(tmp_path: Path) -> None:
    rules, weights = load_weights(WEIGHTS / f"{SHIPPED[2]}.safetensors")
    save_weights(tmp_path / "weights.safetensors", rules, weights)
    again_rules, again = load_weights(tmp_path / "weights.safetensors")
    assert again_rules == rules == Rules(num_players=2)
    assert all((again[name] == weights[name]).all() for name in weights)


def test_refuses_damaged_files(tmp_path: Path) -> None:
    path = tmp_path / "weights.safetensors"
    with pytest.raises(WeightsError, match="missing"):
        load_weights(path)
    good = (WEIGHTS / f"{SHIPPED[1]}.safetensors").read_bytes()
    for damaged in (good[: len(good) // 2], b"", good[:3] + b"\xff" + good[4:], good[:-9] + b"\x01" + good[-8:]):
        path.write_bytes(damaged)
        with pytest.raises(WeightsError, match="damaged"):
            load_weights(path)
    save_file({"some": np.zeros(3, np.float32)}, path)
    with pytest.raises(WeightsError, match="no weights of this network"):
        load_weights(path)


def test_shipped_weights_are_small_and_have_a_card() -> None:
    for name in SHIPPED.values():
        assert (WEIGHTS / f"{name}.safetensors").stat().st_size < 2**20
        assert (WEIGHTS / f"{name}.json").exists()


def test_plays_without_torch() -> None:
    program = (
        "import sys; from agents.value import value; from quincunx_env.arena import evaluate; evaluate(value, 2);"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=Path(module.__file__).parents[1])


def test_the_network_of_the_training_is_the_same() -> None:
    torch = pytest.importorskip("torch")
    from train.value import Network

    rules = Rules()
    network = Network(16, 24)
    batch = positions(rules, 5)
    plays = plays_of(rules, Observer(rules, preview=True).observe_batch(batch), batch.mask())
    for _, described in plays.judged:
        padded = np.pad(described.cells, ((0, 0), (0, 2), (0, 0)))
        with torch.no_grad():
            expected = network(torch.from_numpy(padded), torch.from_numpy(described.whole)).numpy()
        assert judge(network.weights(), described) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_an_agent_of_ones_own_weights() -> None:
    rules, weights = load_weights(WEIGHTS / f"{SHIPPED[1]}.safetensors")
    flat = {name: np.zeros_like(array) for name, array in weights.items()}
    batch = positions(rules, 2)
    observation, mask = Observer(rules, preview=True).observe_batch(batch), batch.mask()
    plays = plays_of(rules, observation, mask)
    chosen = ValueAgent(rules, flat)(observation, mask, RNG)
    for row, action in enumerate(chosen):
        here = plays.rows == row
        assert plays.points[here & (plays.actions == action)] == plays.points[here].max(), "then only points count"


@pytest.mark.parametrize("players", [1, 2])
def test_training_writes_weights_and_card(players: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch")
    from train.value import Arguments, main

    monkeypatch.chdir(tmp_path)
    arguments = Arguments(
        name="tiny", num_players=players, iterations=2, games=6, updates=2, batch_size=32, candidates=4, cell_width=8,
        width=16, eval_every=1, eval_deals=2, test_deals=2, progress=False,
    )  # fmt: skip
    card = main(arguments)
    rules, weights = load_weights(tmp_path / "runs/tiny/tiny.safetensors")
    assert rules.num_players == players
    assert weights["cell.0.weight"].shape == (8, module.CELL_FEATURES)
    assert [record["iteration"] for record in card["validation"]] == [1, 2]
    assert card["plays"] > 0
    again = main(arguments)
    assert again["benchmark"] == card["benchmark"], "the same seed learns the same"
    assert all(
        (load_weights(tmp_path / "runs/tiny/tiny.safetensors")[1][name] == weights[name]).all() for name in weights
    )


@pytest.mark.parametrize("players", [1, 2])
def test_with_all_of_the_truth_targets_are_what_was_scored(players: int) -> None:
    """With lambda 1 what is still to come falls from play to play by what was scored, a whole number of points."""
    pytest.importorskip("torch")
    from train.value import Arguments, Network, play

    arguments = Arguments(num_players=players, games=1, trace=1.0, cell_width=8, width=16)
    lesson = play(arguments, Network(8, 16).weights(), 0, np.random.default_rng(0))
    plies, judged = arguments.rules.num_plays, len(lesson.target)
    assert lesson.cells.shape == (judged, plies - 1, module.CELL_FEATURES)
    assert lesson.whole.shape == (judged, module.WHOLE_FEATURES)
    assert 0 < judged < plies
    # Of two players one wins what the other loses.
    still = lesson.target * (1 if players == 1 else (-1) ** np.arange(judged))
    scored = -np.diff(still)
    assert scored == pytest.approx(np.round(scored), abs=1e-3)
    assert np.abs(scored).max() > 0
