"""Train the network that judges positions after a play, for `agents.value`.

    python -m train.value                                              # the solitaire
    python -m train.value --num-players 2 --name value-two-players     # two players from corners, against itself
    python -m train.value --help                                       # every flag

The network plays by itself, one look ahead, a play being drawn with a probability proportional to the exponential of
its worth; then it learns what came after each play, a mixture of what was scored in truth and what the network said of
the positions further on: TD(lambda).

Deals to learn from are those of the ``play`` domain. Now and then the network is measured on ``validation`` deals and
written to ``runs/<name>/<name>.safetensors``; at the end it is measured on ``benchmark`` deals, and a card
``<name>.json`` beside the weights tells what made them and how strong they are.
"""

import json
import platform
import sys
import time
from collections import deque
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
import tyro
from torch import Tensor, nn
from tqdm.auto import tqdm

from agents import heuristic
from agents.value import (
    CELL_FEATURES,
    TOUCHING,
    VALUE_SCALE,
    WHOLE_FEATURES,
    Bools,
    Floats,
    ValueAgent,
    plays_of,
    save_weights,
    worth_of,
)
from quincunx_env.arena import Policy, evaluate
from quincunx_env.core.deal import Domain
from quincunx_env.core.observation import Pieces
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import Rules
from train.checkpoint import write_atomically


@dataclass
class Arguments:
    """Every option of a run."""

    name: str = "value-solitaire"
    """the run's folder below ``runs``, and the name of the weights"""
    num_players: int = 1
    """1 is the solitaire, 2 play from corners"""
    edge_contact: bool = False
    """solitaire: a card must touch a card in play"""
    seed: int = 0
    """of the deals, the first weights and the exploration"""

    iterations: int = 150
    """each plays games and learns from them"""
    games: int = 192
    """games in an iteration"""
    replay: int = 8
    """iterations whose games are learned from"""
    updates: int = 24
    """gradient steps in an iteration"""
    batch_size: int = 1024
    """plays in a gradient step"""
    learning_rate: float = 3e-3
    """of Adam at the start; it falls linearly to 0"""
    trace: float = 0.7
    """lambda: the share of what was scored in truth"""
    temperature: float = 2.0
    """points that make a play e times as likely while learning"""
    candidates: int = 0
    """plays of a position that are looked at while learning, the heuristic's best; 0: all. Fewer learn faster"""
    cell_width: int = 48
    """of what is read of a cell"""
    width: int = 128
    """of the first hidden layer for the whole; the second is half as wide"""

    eval_every: int = 50
    """iterations between evaluations"""
    eval_deals: int = 500
    """validation deals of an evaluation; two players play each of them twice"""
    test_deals: int = 4000
    """benchmark deals of the card"""
    threads: int = 1
    """of PyTorch"""
    progress: bool = True
    """show a progress bar"""

    @property
    def rules(self) -> Rules:
        """Which game is played."""
        return Rules(num_players=self.num_players, edge_contact=self.edge_contact)


class Network(nn.Module):
    """What `agents.value.judge` computes, for learning."""

    def __init__(self, cell_width: int, width: int) -> None:
        super().__init__()
        self.cell = nn.Sequential(
            nn.Linear(CELL_FEATURES, cell_width), nn.ReLU(), nn.Linear(cell_width, cell_width), nn.ReLU()
        )
        self.whole = nn.Sequential(
            nn.Linear(cell_width + WHOLE_FEATURES, width),
            nn.ReLU(),
            nn.Linear(width, width // 2),
            nn.ReLU(),
            nn.Linear(width // 2, 1),
        )

    def forward(self, cells: Tensor, whole: Tensor) -> Tensor:
        """Float32 [B, e, CELL_FEATURES], with zeros where no cell is; [B, WHOLE_FEATURES] -> points [B]."""
        # Of every cell it is said how many cards it touches, one of five possibilities.
        there = cells[:, :, TOUCHING].sum(dim=2, keepdim=True)
        read = (self.cell(cells) * there).sum(dim=1)
        points: Tensor = VALUE_SCALE * self.whole(torch.cat([read, whole], dim=1))[:, 0]
        return points

    def weights(self) -> dict[str, Floats]:
        """By name, as `agents.value.judge` takes them."""
        return {name: tensor.detach().numpy().copy() for name, tensor in self.state_dict().items()}


class Lesson(NamedTuple):
    """Positions after a play, and what came of them."""

    cells: Floats
    """[B, e, CELL_FEATURES]."""
    whole: Floats
    """[B, WHOLE_FEATURES]."""
    target: Floats
    """[B]: points."""


def play(arguments: Arguments, weights: dict[str, Floats], seed: int, rng: np.random.Generator) -> Lesson:
    """Play games from the deals seeded ``seed`` on, and say what came after each play."""
    rules, games = arguments.rules, arguments.games
    batch, observer = Batch(rules, games), Observer(rules, preview=True)
    batch.reset(seed=seed)
    shape = rules.num_plays, games
    points, values = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
    judged = np.zeros(shape, np.bool_)
    cells = np.zeros((*shape, rules.num_plays - 1, CELL_FEATURES), np.float32)
    whole = np.zeros((*shape, WHOLE_FEATURES), np.float32)
    for ply in range(rules.num_plays):
        live = np.flatnonzero(~batch.over)
        if not len(live):
            break
        now = batch.fork(live)
        observation, mask = observer.observe_batch(now), now.mask()
        if arguments.candidates:
            mask &= promising(rules, observation, mask, arguments.candidates)
        plays = plays_of(rules, observation, mask)
        after = worth_of(weights, plays)
        drawn_by = np.full(mask.shape, -np.inf)
        drawn_by[plays.rows, plays.actions] = plays.points + after + arguments.temperature * rng.gumbel(size=len(after))
        actions = drawn_by.argmax(axis=1)
        chosen = np.flatnonzero(plays.actions == actions[plays.rows])  # one in each row, in their order
        points[ply, live], values[ply, live] = plays.points[chosen], after[chosen]
        game = np.full(len(after), -1)
        game[chosen] = live
        for at, described in plays.judged:
            here = np.flatnonzero(game[at] >= 0)
            judged[ply, game[at[here]]] = True
            cells[ply, game[at[here]], : described.cells.shape[1]] = described.cells[here]
            whole[ply, game[at[here]]] = described.whole[here]
        batch.step(actions, live)
    # Of two players one wins what the other loses, and they take turns.
    sign = 1 if rules.num_players == 1 else -1
    target = values.copy()
    for ply in range(rules.num_plays - 2, -1, -1):
        further = (1 - arguments.trace) * values[ply + 1] + arguments.trace * target[ply + 1]
        target[ply] = np.where(judged[ply], sign * (points[ply + 1] + further), values[ply])
    return Lesson(cells[judged], whole[judged], target[judged])


def promising(rules: Rules, observation: Pieces, mask: Bools, count: int) -> Bools:
    """The ``count`` plays of each position that the heuristic likes best, and its ties, bool [n, A]."""
    table = heuristic.worth(observation, mask, heuristic.weights_for(rules))
    least = np.partition(table, -count, axis=1)[:, -count]
    best: Bools = table >= least[:, None]
    return best


def duel(rules: Rules, policy: Policy, other: Policy, deals: int, domain: Domain) -> tuple[Floats, Floats]:
    """Two policies on numbered deals, each played twice with the seats exchanged.

    Returns:
        By deal, the share of the two rounds that ``policy`` wins, and its mean margin, float32 [deals] each.
    """
    observer, rng = Observer(rules, preview=True), np.random.default_rng(0)
    shares, margins = np.zeros(deals, np.float32), np.zeros(deals, np.float32)
    for start in range(0, deals, 250):
        for seat in range(2):
            batch = Batch(rules, min(250, deals - start), domain)
            batch.reset(seed=start)
            while not batch.over.all():
                # All games are of one length, and the seat to move is the same in all.
                mover = policy if batch.mover[0] == seat else other
                batch.step(mover(observer.observe_batch(batch), batch.mask(), rng))
            margin = batch.scores[:, seat] - batch.scores[:, 1 - seat]
            shares[start : start + 250] += (np.sign(margin) + 1) / 4
            margins[start : start + 250] += margin / 2
    return shares, margins


def measure(arguments: Arguments, weights: dict[str, Floats], deals: int, domain: Domain) -> dict[str, Any]:
    """How strong the weights are: alone in the solitaire, else against the heuristic."""
    rules = arguments.rules
    agent = ValueAgent(rules, weights)
    if rules.num_players == 1:
        return evaluate(agent, deals, rules=rules, domain=domain, chunk=250).to_json()

    def interval(values: Floats) -> list[float]:
        half = 1.96 * values.std(ddof=1) / len(values) ** 0.5
        return [round(float(values.mean() + side), 4) for side in (-half, half)]

    shares, margins = duel(rules, agent, heuristic.heuristic, deals, domain)
    return {
        "against": "agents.heuristic",
        "won": float(shares.mean()),
        "won_ci95": interval(shares),
        "margin": float(margins.mean()),
        "margin_ci95": interval(margins),
        "deals": deals,
        "rounds": 2 * deals,
    }


def learn(
    arguments: Arguments,
    network: Network,
    optimizer: torch.optim.Optimizer,
    pool: list[Tensor],
    rng: np.random.Generator,
) -> float:
    """Take the gradient steps of an iteration; returns the mean loss."""
    total = 0.0
    for _ in range(arguments.updates):
        pick = torch.from_numpy(rng.integers(len(pool[0]), size=arguments.batch_size))
        cells, whole, target = (part[pick] for part in pool)
        loss = nn.functional.smooth_l1_loss(network(cells, whole) / VALUE_SCALE, target / VALUE_SCALE)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / arguments.updates


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, measure, and write weights and card; returns the card."""
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    rng = np.random.default_rng(arguments.seed)
    network = Network(arguments.cell_width, arguments.width)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    folder = Path("runs") / arguments.name
    file = folder / f"{arguments.name}.safetensors"
    lessons: deque[Lesson] = deque(maxlen=arguments.replay)
    history = []
    began, plays = time.perf_counter(), 0
    iterations = tqdm(range(1, arguments.iterations + 1), disable=not arguments.progress)
    for iteration in iterations:
        # Seeds of different runs lie far apart.
        seed = 10**12 * (arguments.seed + 1) + iteration * arguments.games
        lessons.append(play(arguments, network.weights(), seed, rng))
        plays += len(lessons[-1].target)
        pool = [torch.from_numpy(np.concatenate(parts)) for parts in zip(*lessons, strict=True)]
        for group in optimizer.param_groups:
            group["lr"] = arguments.learning_rate * (1 - (iteration - 1) / arguments.iterations)
        loss = learn(arguments, network, optimizer, pool, rng)
        if iteration % arguments.eval_every == 0 or iteration == arguments.iterations:
            figures = measure(arguments, network.weights(), arguments.eval_deals, "validation")
            history.append({"iteration": iteration, "seconds": round(time.perf_counter() - began), **figures})
            shown = {name: round(figures[name], 3) for name in ("mean", "lost", "won", "margin") if name in figures}
            iterations.set_postfix(loss=f"{loss:.4f}", **shown)
            write_atomically(file, lambda path: save_weights(path, arguments.rules, network.weights()))
    card = {
        "command": " ".join(["python -m train.value", *sys.argv[1:]]),
        "arguments": asdict(arguments),
        "plays": plays,
        "seconds": round(time.perf_counter() - began),
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
        "validation": history,
        "benchmark": measure(arguments, network.weights(), arguments.test_deals, "benchmark"),
    }
    text = json.dumps(card, indent=1) + "\n"
    write_atomically(folder / f"{arguments.name}.json", lambda path: path.write_text(text, encoding="utf-8"))
    print(text)
    return card


if __name__ == "__main__":
    main(tyro.cli(Arguments, description=__doc__))
