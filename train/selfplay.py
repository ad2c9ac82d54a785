r"""Train the networks of `quincunx_agents.networks.value` by self-play: one for several forms of Quincunx, one for the spiral game.

    python -m train.selfplay                                          # two to four players, both starts
    python -m train.selfplay --variants solitaire --name solitaire-v0 --candidates 0 --temperature 2 --td-lambda 0.7 \
        --updates 24 --iterations 300                                 # the solitaire
    python -m train.selfplay --variants spiral --name spiral-v0 --candidates 0 --td-lambda 0.95 --games 256 \
        --iterations 300 --against spiral-heuristic-v0                # the spiral game
    python -m train.selfplay --name response --variants 2-corners --init-from players-v0 --baselines value --pool-share 1 \
        --snapshot-every 1000 --against value --iterations 100        # a best response to a shipped network
    python -m train.selfplay --resume                                 # go on after an interruption
    python -m train.selfplay --help                                   # every flag

In an iteration the network plays whole rounds of every form, all seats by itself, except for some games in which one
seat is its own and a member of a pool has the others: an earlier self, or a fixed agent. A play is drawn with a
probability that grows with its worth. Then the network learns from the latest iterations what came after the plays,
TD(lambda), for every seat; and with ``--policy-weight`` from the last iteration which plays came off better than was
thought, by PPO's clipped objective, among the plays that were looked at: others have no probability at all.

Everything random in an iteration follows from the seed and the number of the iteration, and rounds are played whole. So
weights, optimiser, the latest lessons and the pool are all that a run needs to go on exactly where it stopped.

A run lives in ``runs/<name>``: ``checkpoint.pt``, ``tensorboard/``, ``<name>.safetensors`` with the latest weights, and
at the end ``<name>.json``, a card of what made them and how strong they are, and ``learning_curve.png``. While it
learns, the network is measured on ``validation`` deals, in the card on ``benchmark`` deals.
"""

import dataclasses
import json
import platform
import sys
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt
import torch
import tyro
from quincunx_agents.afterstates import SEATS, Afterstates, Bools, Floats, Ints
from quincunx_agents.networks import value
from quincunx_agents.networks.value import (
    VALUE_SCALE,
    VARIANTS,
    ValueAgent,
    evaluate_afterstates,
    feature_module_of,
    save_weights,
)
from quincunx_agents.torch import ValueNetwork as Network
from torch import Tensor, nn
from torch.utils.tensorboard import SummaryWriter
from tqdm.auto import tqdm

from quincunx_env.arena import compare, evaluate, resolve
from quincunx_env.core.deal import Domain
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import Agent, policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.envs.rewards import end_rewards
from quincunx_env.quincunx.rules import Rules
from quincunx_env.registry import make_observer, spec_of
from train.common import checkpoint
from train.common.opponents import Member, Pool, Sampling

matplotlib.use("Agg")  # pictures go to files; no display is needed
import matplotlib.pyplot as plt


@dataclass
class Arguments:
    """Every option of a run."""

    name: str = "players-v0"
    """the run's folder below ``runs``, and the name of the weights"""
    resume: bool = False
    """go on from the last checkpoint of the run"""
    variants: tuple[str, ...] = ("2-corners", "3-corners", "4-corners", "2-open", "3-open", "4-open")
    """what is played, names of `quincunx_agents.networks.value.VARIANTS`, all of one game"""
    reward: Literal["margin", "outcome"] = "margin"
    """what the network learns to make: points more than the others, or wins"""
    seed: int = 0
    """of the deals, the first weights and the exploration"""

    init_from: str | None = None
    """a shipped network whose weights are the first ones; None: random ones"""
    iterations: int = 700
    """each plays games and learns from them"""
    games: int = 192
    """games in an iteration, of all forms together"""
    candidates: int = 12
    """plays of a position that are looked at, the heuristic's best; 0: all"""
    temperature: float = 1.0
    """points that make a play e times as likely while learning"""
    pool_share: float = 0.25
    """share of the games in which a member of the pool has all seats but one"""
    sampling: Sampling = "prioritised"
    """which member: the latest, any, or rather those that win"""
    baselines: tuple[str, ...] = ()
    """agents that are in the pool from the start, names of the arena"""
    snapshot_every: int = 50
    """iterations after which the network joins the pool"""

    replay: int = 8
    """iterations whose games are learned from"""
    updates: int = 32
    """gradient steps in an iteration"""
    batch_size: int = 1024
    """plays in a gradient step"""
    learning_rate: float = 3e-3
    """of Adam at the start; it falls linearly to 0"""
    td_lambda: float = 0.9
    """lambda: the share of what happened in truth"""
    policy_weight: float = 0.0
    """of PPO's objective beside the loss of the values; 0 learns the values alone, in half the time"""
    policy_batch: int = 256
    """positions in a gradient step of PPO"""
    clip_range: float = 0.2
    """of PPO's objective"""
    entropy: float = 0.01
    """weight of the entropy bonus"""
    set_width: int = 48
    """of what is read of a cell, or of a card"""
    width: int = 128
    """of the first hidden layer for the whole; the second is half as wide"""

    against: str = "heuristic-v0"
    """agent to be measured against while learning, a name of the arena"""
    eval_every: int = 100
    """iterations between evaluations"""
    eval_deals: int = 100
    """validation deals of an evaluation, for each form; several players play each from every seat"""
    test_deals: int = 500
    """benchmark deals of the card, for each form"""
    checkpoint_every: int = 50
    """iterations between checkpoints"""
    threads: int = 1
    """of PyTorch"""
    device: str = "cpu"
    """where the network learns, as PyTorch calls it; it plays on the CPU"""
    progress: bool = True
    """show a progress bar"""


MAY_CHANGE = ("resume", "eval_every", "eval_deals", "test_deals", "checkpoint_every", "progress", "device", "threads")
"""Arguments that a resumed run may set anew."""


# --- Games -----------------------------------------------------------------------------------------------------------


Weights = dict[str, Floats]
"""By name, as `quincunx_agents.networks.value.value_and_preference` takes them."""

Opponents = Pool[Agent | Weights]
"""Fixed agents, and the weights of earlier selves."""


class Lessons(NamedTuple):
    """Positions after B plays, and what came of them. Half precision: there are many."""

    told: npt.NDArray[np.float16]
    """[B, size], see `quincunx_agents.afterstates.FeatureLayout`."""
    target: Floats
    """[B, SEATS]: points for each seat from the mover on."""
    seats: Ints
    """[B]: how many play."""


class Decisions(NamedTuple):
    """B positions of the learner with M plays each, for PPO."""

    told: npt.NDArray[np.float16]
    """[B, M, size], see `quincunx_agents.afterstates.FeatureLayout`."""
    known: Floats
    """[B, M]: what is known of each play in points, minus infinity where there is none."""
    judged: Bools
    """[B, M]: where the network has its say."""
    shares: Floats
    """[B, SEATS]: see `quincunx_agents.networks.value.margin_weights`."""
    chosen: Ints
    """[B]: which play was made."""
    chance: Floats
    """[B]: logarithm of its probability."""
    advantage: Floats
    """[B]: how much better than expected it was."""


class Clock:
    """Seconds of the processor, by what they were spent on."""

    def __init__(self) -> None:
        self.seconds = {"environment": 0.0, "playing": 0.0, "learning": 0.0}
        self._now = time.process_time()

    def skip(self) -> None:
        """What passed since the last tick does not count."""
        self._now = time.process_time()

    def tick(self, what: str) -> None:
        """Everything since the last tick was spent on this."""
        now = time.process_time()
        self.seconds[what] += now - self._now
        self._now = now


def play(
    arguments: Arguments,
    rules: BaseRules,
    games: int,
    weights: Weights,
    pool: Opponents,
    seed: int,
    rng: np.random.Generator,
    clock: Clock,
) -> tuple[Lessons, Decisions | None]:
    """Play a round of each of the deals seeded ``seed`` on, and say what came of it."""
    game, observer = feature_module_of(rules), make_observer(rules, preview=True)
    batch: Any = spec_of(rules).Batch(rules, games)
    batch.reset(seed=seed)
    players, by_margin = rules.num_players, arguments.reward == "margin"
    shares = value.margin_weights(players) if by_margin else value.margin_weights(1)
    who = draw_players(pool, games, players, arguments.pool_share, rng)
    history: list[Ply] = []
    while not batch.over.all():
        live = np.flatnonzero(~batch.over)
        now = batch.fork(live)
        observation, mask, mover = observer.observe_batch(now), now.mask(), now.mover
        clock.tick("environment")
        player = who[live, mover]
        fixed = ask_agents(pool, rules, player, observation, mask, rng)
        asked = np.flatnonzero(fixed >= 0)
        looked_at = game.shortlist(rules, observation, mask, arguments.candidates)
        looked_at[asked, fixed[asked]] = True
        plays = game.afterstates_of(rules, observation, looked_at, use_known_values=by_margin)
        if not by_margin:
            plays = plays._replace(points=np.zeros_like(plays.points))
        slots = Slots(plays.rows)

        judge = partial(judgement, plays=plays, shares=shares, temperature=arguments.temperature)
        own = judge(weights)
        logits = slots.table(own.logits)
        for member, rows in met(pool, player):
            if isinstance(member.player, dict):
                logits[rows] = slots.table(judge(member.player).logits)[rows]
        logits[asked] = np.where(slots.table(plays.actions, -2) == fixed[:, None], 0, -np.inf)[asked]
        slot = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
        made = slots.first + slot
        clock.tick("playing")
        gains = batch.step(plays.actions[made], live).astype(np.float32)
        rewards = gains if by_margin else VALUE_SCALE * ended_rewards(batch, live)
        if players == 1:
            rewards[batch.lost[live]] -= batch.totals[live[batch.lost[live]]]
        clock.tick("environment")

        # What was known when the play was made is told apart from what came with it: penalties, the end.
        seats = (mover[:, None] + np.arange(players)) % players
        each = np.arange(len(live))
        points = np.zeros((len(live), players), np.float32)
        points[each, mover] = plays.points[made]
        thought = np.zeros((len(live), players), np.float32)
        thought[each[:, None], seats] = own.to_come[made, :players]
        told, unknown = plays.features(game.LAYOUT), np.isnan(plays.known_values[:, 0])
        ply = Ply(live, seats, points, rewards - points, thought, unknown[made], told[made])
        if arguments.policy_weight:
            mine = np.flatnonzero(player < 0)
            ply = ply._replace(mine=mine, decisions=decided(plays, slots, own, shares, told, unknown, slot, mine))
        history.append(ply)
        clock.tick("playing")
    settle(pool, who, batch)
    return look_back(history, games, players, arguments.td_lambda, shares)


class Ply(NamedTuple):
    """A play in each of n games with P seats, and what is learned from there."""

    live: Ints
    """[n]: which games."""
    seats: Ints
    """[n, P]: the seats from the mover on."""
    points: Floats
    """[n, P]: what the play was known to score, by seat."""
    rest: Floats
    """[n, P]: what else came with it, by seat."""
    thought: Floats
    """[n, P]: what the network thought was still to come, by seat."""
    judged: Bools
    """[n]: whether that was not known."""
    told: npt.NDArray[np.float16]
    """[n, size]: the position after the play, see `quincunx_agents.afterstates.FeatureLayout`."""
    mine: Ints | None = None
    """[d]: where the learner itself decided, for PPO."""
    decisions: Decisions | None = None
    """Of these, for PPO; their advantage lacks what came after."""


class Slots:
    """Plays of n positions, [m] in all, as a table [n, M]: each in a slot of its position.

    Args:
        rows: int64 [m], ascending: position of each play; every position has one.
    """

    def __init__(self, rows: Ints) -> None:
        self.rows = rows
        self.first: Ints = np.flatnonzero(np.diff(rows, prepend=-1))
        """[n]: the first play of each position."""
        self.slots = np.arange(len(rows)) - self.first[rows]

    def table(self, values: npt.NDArray[Any], nothing: float = -np.inf) -> npt.NDArray[Any]:
        """Values of plays, [m], as [n, M]."""
        table = np.full((len(self.first), self.slots.max() + 1), nothing, values.dtype)
        table[self.rows, self.slots] = values
        return table


class Judgement(NamedTuple):
    """What a network says of m plays."""

    to_come: Floats
    """[m, SEATS]: points after the play, for each seat from the mover on."""
    expected: Floats
    """[m]: what the play is worth."""
    logits: Floats
    """[m]: how likely it is made."""


def judgement(weights: Weights, plays: Afterstates, shares: Floats, temperature: float) -> Judgement:
    """What the network with these weights says of plays."""
    to_come, preferred = evaluate_afterstates(weights, plays)
    expected = plays.points + to_come @ shares
    return Judgement(to_come, expected, (expected + preferred) / np.float32(temperature))


def decided(
    plays: Afterstates,
    slots: Slots,
    own: Judgement,
    shares: Floats,
    told: npt.NDArray[np.float16],
    unknown: Bools,
    slot: Ints,
    mine: Ints,
) -> Decisions:
    """What PPO learns from in the positions ``mine``; what came after is still to be added to the advantage."""
    index = slots.table(np.arange(len(plays.rows)), -1)[mine]
    known = plays.points + np.where(unknown, 0, own.to_come @ shares)
    logits = slots.table(own.logits)
    chances = np.exp(logits - logits.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    return Decisions(
        told=told[index],
        known=slots.table(known)[mine],
        judged=(index >= 0) & unknown[index],
        shares=np.tile(shares, (len(mine), 1)),
        chosen=slot[mine],
        chance=np.log(chances[mine, slot[mine]]),
        advantage=-(chances * slots.table(own.expected, 0)).sum(axis=1)[mine],
    )


# --- The others at the table -----------------------------------------------------------------------------------------


def draw_players(pool: Opponents, games: int, players: int, share: float, rng: np.random.Generator) -> Ints:
    """Who plays each seat, int64 [games, players]: -1 the learner, otherwise the number of a member of the pool.

    Args:
        pool: whom to draw from.
        games: how many.
        players: in each.
        share: of the games in which a member has all seats but one.
        rng: draws.
    """
    who = np.full((games, players), -1)
    if not pool.members or players == 1:
        return who
    some = np.flatnonzero(rng.random(games) < share)
    who[some] = rng.choice(len(pool.members), len(some), p=pool.chances())[:, None]
    who[some, rng.integers(players, size=len(some))] = -1
    return who


def met(pool: Opponents, player: Ints) -> Iterator[tuple[Member[Agent | Weights], Ints]]:
    """The members that are to move, and the rows of each; ``player`` as `draw_players` has it, [n]."""
    for number in np.unique(player[player >= 0]):
        yield pool.members[number], np.flatnonzero(player == number)


def ask_agents(
    pool: Opponents, rules: BaseRules, player: Ints, observation: Pieces, mask: Bools, rng: np.random.Generator
) -> Ints:
    """What the fixed agents among the players [n] do, int64 [n]; -1 where somebody else is to move."""
    actions = np.full(len(player), -1)
    for member, rows in met(pool, player):
        if not isinstance(member.player, dict):
            theirs = {name: piece[rows] for name, piece in observation.items()}
            actions[rows] = policy_for(member.player, rules)(theirs, mask[rows], rng)
    return actions


def settle(pool: Opponents, who: Ints, batch: Any) -> None:
    """Count who won the games against members of the pool."""
    best = batch.totals == batch.totals.max(axis=1, keepdims=True)
    wins = best / best.sum(axis=1, keepdims=True)
    for game in np.flatnonzero((who >= 0).any(axis=1)):
        pool.count(int(who[game].max()), float(wins[game, who[game] < 0].sum()), who.shape[1])


# --- What came of it -------------------------------------------------------------------------------------------------


def ended_rewards(batch: Any, live: Ints) -> Floats:
    """Rewards ``outcome`` of the games among these that have just ended, float32 [n, P]."""
    rewards = np.zeros((len(live), batch.rules.num_players), np.float32)
    over = batch.over[live]
    rewards[over] = end_rewards(batch.totals[live[over]])
    return rewards


def look_back(
    history: list[Ply], games: int, players: int, trace: float, shares: Floats
) -> tuple[Lessons, Decisions | None]:
    """What came after each play, from the last to the first: TD(lambda) over all seats' plays."""
    lessons, decisions = [], []
    following = np.zeros((games, players), np.float32)  # points from the next play on, by seat
    for ply in reversed(history):
        each = np.arange(len(ply.live))[:, None]
        target = ply.rest + following[ply.live]
        following[ply.live] = ply.points + trace * target + (1 - trace) * ply.thought
        seen = np.zeros((len(ply.live), SEATS), np.float32)
        seen[:, :players] = target[each, ply.seats]
        lessons.append(Lessons(ply.told[ply.judged], seen[ply.judged], np.full(ply.judged.sum(), players)))
        if ply.mine is not None and ply.decisions is not None:
            points = ply.points[each, ply.seats][ply.mine, 0]
            came = points + seen[ply.mine] @ shares
            decisions.append(ply.decisions._replace(advantage=ply.decisions.advantage + came))
    return joined(lessons), joined(decisions) if decisions else None


def joined(parts: Sequence[Any]) -> Any:
    """Tuples of arrays as one of the same kind; slots of plays are filled up to the most."""
    most = max(part.told.shape[1] for part in parts)

    def fill(array: npt.NDArray[Any], name: str) -> npt.NDArray[Any]:
        if array.ndim < 2 or not isinstance(parts[0], Decisions) or name == "shares":
            return array
        width = [(0, 0), (0, most - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
        return np.pad(array, width, constant_values=-np.inf if name == "known" else 0)

    kind = type(parts[0])
    return kind(*(np.concatenate([fill(getattr(part, name), name) for part in parts]) for name in kind._fields))


# --- Learning --------------------------------------------------------------------------------------------------------


def learn(
    arguments: Arguments,
    network: Network,
    optimizer: torch.optim.Optimizer,
    lessons: Lessons,
    decisions: Decisions | None,
    rng: np.random.Generator,
) -> dict[str, float]:
    """Take the gradient steps of an iteration; returns means of what was made smaller or watched."""
    sums: dict[str, float] = {}
    device = torch.device(arguments.device)

    def some(parts: Any, count: int) -> list[Tensor]:
        rows = rng.integers(len(parts[0]), size=count)
        taken = (torch.from_numpy(part[rows]).to(device) for part in parts)
        return [part.float() if part.dtype == torch.float16 else part for part in taken]

    for _ in range(arguments.updates):
        told, target, seats = some(lessons, arguments.batch_size)
        there = torch.arange(SEATS, device=device) < seats[:, None]
        error = nn.functional.smooth_l1_loss(
            network(told)[:, :SEATS] / VALUE_SCALE, target / VALUE_SCALE, reduction="none"
        )
        terms = {"value": error[there].mean()}
        loss = terms["value"]
        if decisions is not None:
            terms |= ppo(arguments, network, some(decisions, arguments.policy_batch))
            loss = loss + arguments.policy_weight * (terms["policy"] - arguments.entropy * terms["entropy"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        for name, term in terms.items():
            sums[name] = sums.get(name, 0.0) + term.item() / arguments.updates
    return sums


def ppo(arguments: Arguments, network: Network, decisions: list[Tensor]) -> dict[str, Tensor]:
    """PPO's clipped objective, to be made small, and the entropy. Plays that were not looked at are masked out."""
    told, known, judged, shares, chosen, chance, advantage = decisions
    said = network(told)
    # The values are learned from what happened; the policy learns by preferences alone.
    expected = (said[..., :SEATS].detach() * shares[:, None]).sum(dim=-1)
    logits = (known + judged * (expected + said[..., SEATS])) / arguments.temperature
    chances = torch.log_softmax(logits, dim=1)
    ratio = (chances.gather(1, chosen[:, None])[:, 0] - chance).exp()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-6)
    clipped = ratio.clamp(1 - arguments.clip_range, 1 + arguments.clip_range)
    entropy = -(chances.exp() * chances.clamp(min=-1e6)).sum(dim=1).mean()
    return {"policy": -torch.min(ratio * advantage, clipped * advantage).mean(), "entropy": entropy}


# --- Measuring -------------------------------------------------------------------------------------------------------


def measure(
    arguments: Arguments, weights: dict[str, Floats], deals: int, domain: Domain
) -> dict[str, dict[str, float]]:
    """How strong the network is in each form: alone in the solitaire, else in one seat against an agent."""
    agent = ValueAgent(value.ValueWeights(weights, arguments.variants, arguments.candidates))
    results = {}
    for form in arguments.variants:
        rules = VARIANTS[form]
        if isinstance(rules, Rules) and rules.num_players == 1:
            score = evaluate(agent, deals, rules=rules, domain=domain)
            low, high = score.ci95
            good = float((score.scores >= 150).mean())
            found = {"mean": score.mean, "low": low, "high": high, "lost": float(score.lost.mean()), "150": good}
        else:
            game = compare([agent, arguments.against], deals, rules=rules, domain=domain, names=["network", "other"])
            won, margin = game.win_rate(), game.margin()
            found = {"won": won.value, "low": won.low, "high": won.high, "even": float(game.even[0])}
            found |= {"margin": margin.value, "margin_low": margin.low, "margin_high": margin.high}
        results[form] = {name: round(float(number), 4) for name, number in found.items()} | {"deals": deals}
    return results


def main(arguments: Arguments) -> dict[str, Any]:
    """Train, measure, and write everything to ``runs/<name>``; returns the card."""
    games = {type(VARIANTS[form]) for form in arguments.variants}
    if len(games) != 1:
        raise SystemExit("--variants: a network plays forms of one game")
    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    network = Network(feature_module_of(VARIANTS[arguments.variants[0]]).LAYOUT, arguments.set_width, arguments.width)
    network.to(arguments.device)
    optimizer = torch.optim.Adam(network.parameters(), lr=arguments.learning_rate)
    folder = Path("runs") / arguments.name
    baselines = (Member[Agent | Weights](name, resolve(name)) for name in arguments.baselines)
    state = State(Pool(arguments.sampling, baselines), deque(maxlen=arguments.replay))
    if arguments.init_from:
        first = value.load(arguments.init_from).weights.tensors
        network.load_state_dict({name: torch.from_numpy(array) for name, array in first.items()})
    if arguments.resume:
        restore(arguments, folder, network, optimizer, state)
    else:
        checkpoint.keep_earlier(folder)
    writer = SummaryWriter(folder / "tensorboard", purge_step=state.iteration + 1)
    bar = tqdm(total=arguments.iterations, initial=state.iteration, disable=not arguments.progress)
    clock = Clock()
    while state.iteration < arguments.iterations:
        state.iteration += 1
        rng = np.random.default_rng([arguments.seed, state.iteration])
        weights = network.weights()
        each = -(-arguments.games // len(arguments.variants))
        # Deals of different runs lie far apart.
        seed = 10**12 * (arguments.seed + 1) + state.iteration * each
        played = [
            play(arguments, VARIANTS[form], each, weights, state.pool, seed, rng, clock) for form in arguments.variants
        ]
        state.lessons.append(joined([lessons for lessons, _ in played]))
        state.plays += len(state.lessons[-1].seats)
        decisions = [made for _, made in played if made is not None]
        for group in optimizer.param_groups:
            group["lr"] = arguments.learning_rate * (1 - (state.iteration - 1) / arguments.iterations)
        made = joined(decisions) if decisions else None
        losses = learn(arguments, network, optimizer, joined(list(state.lessons)), made, rng)
        clock.tick("learning")
        for name, loss in losses.items():
            writer.add_scalar(f"loss/{name}", loss, state.iteration)
        if state.iteration % arguments.snapshot_every == 0:
            state.pool.join(f"iteration {state.iteration}", network.weights())
        if state.iteration % arguments.eval_every == 0 or state.iteration == arguments.iterations:
            record(arguments, folder, network, state, clock, writer, bar)
        if state.iteration % arguments.checkpoint_every == 0 or state.iteration == arguments.iterations:
            keep(arguments, folder, network, optimizer, state, clock)
        bar.update()
    bar.close()
    writer.close()
    return report(arguments, folder, network, state, total(state, clock))


# --- Files -----------------------------------------------------------------------------------------------------------


@dataclass
class State:
    """What changes in the course of a run, beside the network and its optimiser."""

    pool: Opponents
    lessons: deque[Lessons]
    iteration: int = 0
    plays: int = 0
    spent: dict[str, float] = dataclasses.field(default_factory=dict)
    """Seconds of the processor before the run was resumed."""
    history: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """What was measured on the way."""


def keep(
    arguments: Arguments,
    folder: Path,
    network: Network,
    optimizer: torch.optim.Optimizer,
    state: State,
    clock: Clock,
) -> None:
    """Write the checkpoint and the weights."""
    content = {
        "arguments": dataclasses.asdict(arguments),
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "lessons": [[torch.from_numpy(part) for part in lessons] for lessons in state.lessons],
        "pool": [
            [member.name, member.won, member.games]
            + (
                [{name: torch.from_numpy(w) for name, w in member.player.items()}]
                if isinstance(member.player, dict)
                else []
            )
            for member in state.pool.members
        ],
        "iteration": state.iteration,
        "plays": state.plays,
        "spent": total(state, clock),
        "history": json.dumps(state.history),
    }
    checkpoint.save(folder / "checkpoint.pt", content)
    shipped = value.ValueWeights(network.weights(), arguments.variants, arguments.candidates)
    save_weights(folder / f"{arguments.name}.safetensors", shipped)


def restore(
    arguments: Arguments, folder: Path, network: Network, optimizer: torch.optim.Optimizer, state: State
) -> None:
    """Bring everything to where `keep` found it."""
    content = checkpoint.load(folder / "checkpoint.pt")
    try:
        checkpoint.refuse_other_arguments(arguments, content["arguments"], MAY_CHANGE)
        network.load_state_dict(content["network"])
        optimizer.load_state_dict(content["optimizer"])
        state.lessons.extend(Lessons(*(part.numpy() for part in parts)) for parts in content["lessons"])
        state.pool.members = [
            Member(name, {key: w.numpy() for key, w in player[0].items()} if player else resolve(name), won, games)
            for name, won, games, *player in content["pool"]
        ]
        state.iteration, state.plays, state.spent = content["iteration"], content["plays"], content["spent"]
        state.history = json.loads(content["history"])
    except (KeyError, ValueError, RuntimeError) as error:
        raise checkpoint.CheckpointError(f"this checkpoint does not fit this version: {error}") from error


def total(state: State, clock: Clock) -> dict[str, float]:
    """Seconds of the processor since the run began, by what they were spent on."""
    return {name: seconds + state.spent.get(name, 0.0) for name, seconds in clock.seconds.items()}


def record(
    arguments: Arguments,
    folder: Path,
    network: Network,
    state: State,
    clock: Clock,
    writer: SummaryWriter,
    bar: Any,
) -> None:
    """Measure on validation deals, and draw the curve."""
    clock.tick("learning")
    found = measure(arguments, network.weights(), arguments.eval_deals, "validation")
    clock.skip()
    spent = {name: round(seconds, 1) for name, seconds in total(state, clock).items()}
    state.history.append({"iteration": state.iteration, "plays": state.plays, "seconds": spent, "forms": found})
    for form, numbers in found.items():
        for name, number in numbers.items():
            writer.add_scalar(f"{form}/{name}", number, state.iteration)
    bar.set_postfix({form: f"{numbers.get('won', numbers.get('mean')):.3g}" for form, numbers in found.items()})
    checkpoint.write_atomically(folder / "learning_curve.png", lambda path: draw(arguments, state.history, path))


def draw(arguments: Arguments, history: list[dict[str, Any]], path: Path) -> None:
    """The learning curves of all forms on the validation deals."""
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    plays = [entry["plays"] for entry in history]
    for form in arguments.variants:
        numbers = [entry["forms"][form] for entry in history]
        solitaire = "mean" in numbers[0]
        # Wins are shown against what even players would win: 1 is even.
        unit = 1.0 if solitaire else numbers[0]["even"]
        middle, low, high = (
            [n[key] / unit for n in numbers] for key in ("mean" if solitaire else "won", "low", "high")
        )
        (line,) = axes.plot(plays, middle, marker="o", label=form)
        axes.fill_between(plays, low, high, color=line.get_color(), alpha=0.15)
    what = (
        "mean score"
        if "mean" in history[0]["forms"][arguments.variants[0]]
        else f"wins against {arguments.against}, 1 is even"
    )
    axes.set(
        xlabel="plays learned from", ylabel=f"{what} ({arguments.eval_deals} validation deals)", title=arguments.name
    )
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def report(
    arguments: Arguments, folder: Path, network: Network, state: State, spent: dict[str, float]
) -> dict[str, Any]:
    """Write the card of the finished run, and return it."""
    card = {
        "command": " ".join(["python -m train.selfplay", *(a for a in sys.argv[1:] if a != "--resume")]),
        "arguments": dataclasses.asdict(arguments),
        "plays": state.plays,
        "seconds": {name: round(seconds) for name, seconds in spent.items()},
        "plays per second": round(state.plays / sum(spent.values())),
        "environment's share": round(spent["environment"] / sum(spent.values()), 4),
        "machine": f"{platform.machine()}, {arguments.threads} thread(s)",
        "versions": {"python": platform.python_version(), "numpy": np.__version__, "torch": torch.__version__},
        "pool": state.pool.won(),
        "validation": state.history,
        "benchmark": measure(arguments, network.weights(), arguments.test_deals, "benchmark"),
    }
    text = json.dumps(card, indent=1) + "\n"
    checkpoint.write_atomically(folder / f"{arguments.name}.json", lambda path: path.write_text(text, encoding="utf-8"))
    print(json.dumps(card["benchmark"], indent=1))
    print(
        f"\nWritten to {folder}: {arguments.name}.safetensors, {arguments.name}.json, learning_curve.png, tensorboard/"
    )
    return card


if __name__ == "__main__":
    try:
        main(tyro.cli(Arguments, description=__doc__))
    except checkpoint.CheckpointError as error:
        raise SystemExit(str(error)) from None
    except KeyboardInterrupt:
        raise SystemExit("\ninterrupted: --resume goes on from the last checkpoint") from None
