"""Solve the mini variant for two players, and measure policies' exploitability.

    python -m train.exact.equilibrium                                   # uniform, greedy, heuristic
    python -m train.exact.equilibrium --learning runs/mini-2/weights    # weights that train.td_lambda kept

See ruling R16. The game begins after its face-up cards, by default from ``benchmark`` deal 0 (``--face-up``): chance
deals the hands and the draws. Its complete tree (`train.exact.tree`) is solved by CFR+ (Tammelin, Solving Large
Imperfect Information Games Using CFR+, 2014) as OpenSpiel has it. Exploitability is half of NashConv, for both seats
together: how much more than the value of the game best responses win on average, in points. A policy that draws random
numbers is measured with these numbers fixed. Only ``uniform`` is measured as a distribution.

Needs OpenSpiel: ``pip install -e ".[train,openspiel]"``. Writes ``cfr.csv``, ``two_players.csv`` and, with
``--learning``, ``learning.csv`` and ``learning.png`` to ``--out``.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from quincunx_env.utils.errors import requires_extra

with requires_extra("arena"):
    from tqdm import tqdm
with requires_extra("openspiel"):
    import pyspiel

from quincunx_agents.afterstates import observer_for
from quincunx_env.arena.curves import Curve, draw_learning_curves
from quincunx_env.core.policy import policy_for
from quincunx_env.policies import display_name, resolve, split_name
from quincunx_env.quincunx.cards import print_cards
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.rules import Rules
from quincunx_env.utils.files import write_csv
from train.common.options import CheckedOptions, Count, Seed, run_script
from train.exact.tree import all_deals, write_efg

MINI = Rules(num_players=2, mini=True)
CFR_COLUMNS = ("iterations", "value", "exploitability")
POLICY_COLUMNS = ("policy", "value_of_seat_0", "nash_conv", "exploitability")

CHUNK = 500
"""Information sets in which a policy chooses at once."""


@dataclass
class Arguments(CheckedOptions):
    """Every option."""

    policies: tuple[str, ...] = ("uniform", "greedy", "heuristic")
    """names of policies, or ``name=...`` as in the arena"""
    learning: Path | None = None
    """folder of the weights that self-play kept, named by iteration: the exploitability of each of them"""
    face_up: str = print_cards(Deal.from_seed(MINI, 0, 0, 0, "benchmark").face_up)
    """the five face-up cards, in reading order of their cells"""
    iterations: Count = 200
    """iterations of CFR+"""
    seed: Seed = 0
    """seed of policies that draw random numbers"""
    out: Path = Path("docs/optimal_play")
    """folder of the results"""
    progress: bool = True
    """show progress bars"""


def solve(game: Any, iterations: int, progress: bool) -> list[tuple[int, float, float]]:
    """Return the rows of ``cfr.csv`` after 1, 2, 5, 10 ... iterations. Values and exploitability are in points."""
    solver, rows = pyspiel.CFRPlusSolver(game), []
    shown = {step * 10**power for power in range(9) for step in (1, 2, 5)} | {iterations}
    for done in tqdm(range(1, iterations + 1), desc="CFR+", disable=not progress, mininterval=1):
        solver.evaluate_and_update_policy()
        if done in shown:
            average = solver.tabular_average_policy()
            rows.append((done, value(game, average), pyspiel.exploitability(game, average)))
    return rows


def value(game: Any, policy: Any) -> float:
    """Return the expected return of seat 0 if both play a policy."""
    return float(pyspiel.expected_returns(game.new_initial_state(), policy, -1, True)[0])


def tabular(agent: str, positions: Sequence[tuple[int, Game]], seed: int, progress: bool = False) -> Any:
    """Convert a policy to OpenSpiel's form: probabilities of actions by information set."""
    observer, policy = observer_for(MINI), policy_for(resolve(agent), MINI)
    seen = [observer.observe(position, position.mover) for _, position in positions]
    mask = np.stack([observer.mask(position) for _, position in positions]).astype(np.bool_)
    observation = {piece: np.stack([one[piece] for one in seen]) for piece in seen[0]}
    chunks = np.array_split(np.arange(len(positions)), -(-len(positions) // CHUNK))
    rng = np.random.default_rng(seed)
    chosen = np.concatenate(
        [
            policy({piece: array[rows] for piece, array in observation.items()}, mask[rows], rng)
            for rows in tqdm(chunks, desc=display_name(agent), disable=not progress, mininterval=1)
        ]
    )
    numbers: dict[str, int] = {}  # OpenSpiel numbers actions by their names, as these come in the file
    table = {}
    for (number, position), legal, action in zip(positions, mask, chosen.tolist(), strict=True):
        seat, actions = position.mover, np.flatnonzero(legal).tolist()
        chances = [1 / len(actions) if agent == "uniform" else float(each == action) for each in actions]
        # It sorts the numbers at a node, but not the actions: the first action has the lowest number.
        found = sorted([numbers.setdefault(label(each), len(numbers)) for each in actions])
        table[f"{seat}-{seat}-{number}-"] = [*zip(found, chances, strict=True)]
    return pyspiel.TabularPolicy(table)


def label(action: int) -> str:
    """Name an action as in the file."""
    card, cell = divmod(action, MINI.num_cells)
    return f"{print_cards([card])} {MINI.grid.place(cell)}"


def main(arguments: Arguments) -> None:
    """Write the tree, solve it, and measure the policies."""
    for _, policy in map(split_name, arguments.policies):
        resolve(policy)  # an unknown one ends the run before it begins
    positions: list[tuple[int, Game]] = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "mini.efg"
        deals = all_deals(MINI, arguments.face_up)
        nodes = write_efg(path, MINI, deals, lambda number, game: positions.append((number, game.copy())))
        game = pyspiel.load_game("efg_game", {"filename": str(path)})
    print(f"{arguments.face_up}: {nodes:,} nodes, {len(positions):,} information sets")
    rows = solve(game, arguments.iterations, arguments.progress)
    span = game.max_utility() - game.min_utility()
    print(f"value {rows[-1][1]:z.3f}, exploitability {rows[-1][2]:.4f}: {rows[-1][2] / span:.4%} of the payoffs' range")
    write_csv(arguments.out / "cfr.csv", CFR_COLUMNS, map(_as_text, rows))

    def measure(agent: str) -> tuple[float, float, float]:
        policy = tabular(agent, positions, arguments.seed, arguments.progress)
        nash_conv = pyspiel.nash_conv(game, policy)
        return value(game, policy), nash_conv, nash_conv / 2

    measured = []
    for name, agent in map(split_name, arguments.policies):
        measured.append((name, *measure(agent)))
        print("{}: value {:z.2f}, NashConv {:z.2f}".format(*measured[-1]))
    write_csv(arguments.out / "two_players.csv", POLICY_COLUMNS, map(_as_text, measured))
    if arguments.learning:
        kept = sorted((int(path.stem), str(path)) for path in arguments.learning.glob("*.safetensors"))
        learned = [measure(path)[-1] for _, path in kept]
        draw_learning_curves(
            arguments.out / "learning.png",
            {"self-play": Curve([iteration for iteration, _ in kept], learned, learned, learned)},
            xlabel="iterations of train.td_lambda",
            ylabel="exploitability in points",
            title=f"Mini variant, {arguments.face_up}",
            references={name: exploitability for name, *_, exploitability in measured if name != "uniform"},
        )


def _as_text(row: Iterable[Any]) -> list[Any]:
    return [f"{each:z.5f}" if isinstance(each, float) else each for each in row]


if __name__ == "__main__":
    run_script(main, Arguments, "train.exact.equilibrium", __doc__, ValueError)
