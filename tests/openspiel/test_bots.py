"""Bots of OpenSpiel in the arena, agents in OpenSpiel, and algorithms of OpenSpiel on the games."""

import random
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python.algorithms import external_sampling_mccfr, ismcts, mcts
from open_spiel.python.bots.uniform_random import UniformRandomBot

from quincunx_agents.greedy import greedy
from quincunx_env.adapters.openspiel import AgentBot, BotAgent, CardGame
from quincunx_env.arena import compare, evaluate
from quincunx_env.core.policy import policy_for
from quincunx_env.core.rules import BaseRules
from quincunx_env.registry import make_observer
from tests.openspiel.test_adapter import FACE_UP, GAMES, load, play
from tests.variants import by_name, new_game, random_action, same


class Seeing:
    """A bot that remembers the states it gets."""

    def __init__(self, game: CardGame, seat: int) -> None:
        self.seat, self.states, self.restarts = seat, list[Any](), 0

    def restart(self) -> None:
        """Count."""
        self.restarts += 1

    def step(self, state: Any) -> int:
        """The last legal action."""
        self.states.append(state)
        assert state.current_player() == self.seat
        return int(state.legal_actions()[-1])


@by_name(GAMES)
def test_a_bot_in_the_arena_gets_states_like_the_position(rules: BaseRules) -> None:
    bots: list[Seeing] = []

    def make_bot(game: CardGame, seat: int) -> Seeing:
        bots.append(Seeing(game, seat))
        return bots[-1]

    policy, observer = policy_for(BotAgent(make_bot), rules), make_observer(rules, preview=True)
    game, rng = new_game(rules, 0), random.Random(0)
    hidden_differ = 0
    while not game.over:
        if rng.random() < 0.2 or rules.num_plays < 10:
            seat = game.mover
            pieces = {name: piece[None] for name, piece in observer.observe(game, seat).items()}
            actions = policy(pieces, observer.mask(game)[None] == 1, np.random.default_rng(game.ply))
            state = bots[seat].states[-1]
            assert actions.tolist() == [state.legal_actions()[-1]] == [np.flatnonzero(observer.mask(game))[-1]]
            same(observer.observe(state.game, seat), observer.observe(game, seat))
            assert state.information_state_string()
            assert state.resample_from_infostate(seat, rng.random).information_state_string(seat) == (
                state.information_state_string()
            )
            hidden_differ += [*state.game.hands] != [*game.hands]
        game.step(random_action(game, rng))
    assert hidden_differ or rules.num_players == 1 or rules.num_plays < 10
    assert sum(bot.restarts for bot in bots) == sum(len(bot.states) for bot in bots) > 0


GREEDY = BotAgent(lambda game, seat: AgentBot("greedy", game))
"""The greedy agent as a bot as an agent: both ways at once."""


@by_name({name: GAMES[name] for name in ("solitaire", "open-3", "corners-3+match", "spiral-play-1")})
def test_an_agent_plays_the_same_as_a_bot(rules: BaseRules) -> None:
    game, observer, rng = load(rules), make_observer(rules, preview=True), np.random.default_rng(0)
    bot, agent = AgentBot("greedy", game), policy_for(GREEDY, rules)
    for state in play(game, random.Random(0)):
        if not state.is_terminal():
            pieces = {name: piece[None] for name, piece in observer.observe(state.game, state.game.mover).items()}
            asked = pieces, observer.mask(state.game)[None] == 1, rng
            assert bot.step(state) == agent(*asked)[0] == greedy(*asked)[0]


def test_the_arena_plays_bots() -> None:
    assert evaluate(GREEDY, 10).scores.tolist() == evaluate("greedy", 10).scores.tolist()
    uniform = BotAgent(lambda game, seat: UniformRandomBot(seat, np.random.RandomState(0)))
    assert compare([GREEDY, uniform], 10, rules=GAMES["corners-2"]).margin().low > 0


def test_openspiel_evaluates_bots_of_both_kinds() -> None:
    game = load(GAMES["corners-2"], games=50)
    bots = [AgentBot("greedy", game), UniformRandomBot(1, np.random.RandomState(0))]
    margins = [pyspiel.evaluate_bots(game.new_initial_state(), bots, seed)[0] for seed in range(12)]
    assert np.mean(margins) > 0


# --- Algorithms of OpenSpiel -----------------------------------------------------------------------------------------


def searching(game: CardGame, simulations: int, seed: int = 0) -> Any:
    """OpenSpiel's information set Monte Carlo tree search, which resamples states."""
    rng = np.random.RandomState(seed)
    return ismcts.ISMCTSBot(game, mcts.RandomRolloutEvaluator(1, rng), 50.0, simulations, random_state=rng)


@pytest.mark.parametrize("chance", ["number", "cards"])
@by_name({name: GAMES[name] for name in ("solitaire", "open-2", "spiral-play-1")})
def test_ismcts_plays(rules: BaseRules, chance: str) -> None:
    game = load(rules, chance=chance)
    others = [UniformRandomBot(seat, np.random.RandomState(0)) for seat in range(1, rules.num_players)]
    bots = [searching(game, 3), *others]
    assert len(pyspiel.evaluate_bots(game.new_initial_state(), bots, 0)) == rules.num_players


@pytest.mark.slow
def test_ismcts_beats_uniform_play() -> None:
    """In the arena, through observations: 60 simulations a play in the spiral game, 10 deals from both seats."""
    agent = BotAgent(lambda game, seat: searching(game, 60, seat))
    margin = compare([agent, "uniform"], 10, rules=GAMES["spiral-play-1"]).margin()
    print(f"ISMCTS against uniform play, the spiral game: {margin}")
    assert margin.low > 0


def test_external_sampling_mccfr_runs_on_the_mini_variant() -> None:
    game = pyspiel.load_game(FACE_UP)
    solver = external_sampling_mccfr.ExternalSamplingSolver(game, external_sampling_mccfr.AverageType.SIMPLE)
    for _ in range(20):
        solver.iteration()
    state = next(state for state in play(game, random.Random(0)) if not state.is_chance_node())
    assert sum(solver.average_policy().action_probabilities(state).values()) == pytest.approx(1)


def test_mcts_plays_the_solitaire_where_cards_are_chance() -> None:
    game, rng = load(GAMES["mini"], chance="cards"), np.random.RandomState(0)
    bot = mcts.MCTSBot(game, 20.0, 20, mcts.RandomRolloutEvaluator(1, rng), random_state=rng)
    assert len(pyspiel.evaluate_bots(game.new_initial_state(), [bot], 0)) == 1
