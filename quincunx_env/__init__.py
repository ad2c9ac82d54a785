"""Quincunx and the spiral game: vectorised card games on a grid, as reinforcement-learning environments.

This page is the public interface; `help` of each name has the details.

Environments, by library:

- Gymnasium: ``Quincunx/Solitaire-v0`` (`SolitaireEnv`, `SolitaireVectorEnv`) and ``Quincunx/VsOpponents-v0``, one agent
  against policies (`VsOpponentsEnv`, `VsOpponentsVectorEnv`).
- PettingZoo: `quincunx_v0` for two to four players, `spiral_v0` for two.
- Neither: `BatchedGames` steps thousands of games for several players and shows all seats.
- ``quincunx_env.adapters.sb3`` and ``quincunx_env.adapters.rllib`` adapt them to stable-baselines3 and Ray RLlib.
- `sample_action` samples a legal action from any of their action spaces; `sampling_mask` is the mask that it uses.

>>> import gymnasium, quincunx_env
>>> env = gymnasium.make("Quincunx/Solitaire-v0")
>>> envs = gymnasium.make_vec("Quincunx/Solitaire-v0", num_envs=1024)
>>> env = gymnasium.make("Quincunx/VsOpponents-v0", opponents="greedy", num_players=3)
>>> env = quincunx_env.quincunx_v0.env(num_players=3)
>>> games = quincunx_env.BatchedGames(1024, num_players=3)

Engines, without spaces and agent names: `Rules` (the options of a game), `Deal`, `Game` (one game in plain Python),
`Batch` (many games in NumPy arrays), `Observer` and `PaddedObserver` (observations and masks) of Quincunx. `spiral` has
the same classes of the spiral game. `GAMES` lists the `GameSpec` of each game; `make_rules`, `make_observer` and
`spec_of` select by game or rules. `resample` samples games consistent with an observation.

Policies: `Policy` and `PolicyFactory` are the protocols; `registered_policies` lists the installed agents by name and
`resolve` imports one. `quincunx_env.arena` evaluates and compares them, `quincunx_env.oracle` has scores reachable with
perfect information, ``python -m quincunx_env.play`` plays against them.

Notation: `to_text`, `to_json`, `print_action`, `parse_action`, `card_name`, `parse_card`, and `Record` for whole
games; `rules_card` has the rules in short.
"""

import pettingzoo
from gymnasium.envs.registration import register

from quincunx_env import quincunx_v0, spiral, spiral_v0
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent, Policy, PolicyFactory
from quincunx_env.core.resample import resample
from quincunx_env.core.spec import GameSpec
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.batched import BatchedGames, Position, StepResult
from quincunx_env.envs.codec import sample_action, sampling_mask
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.notation.record import Record
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import parse_action, print_action, to_json, to_text
from quincunx_env.policies import registered_policies, resolve
from quincunx_env.quincunx import Batch, Deal, Game, Observer, PaddedObserver, Rules
from quincunx_env.quincunx.cards import card_name, parse_card
from quincunx_env.quincunx.scoring import RATING_STEPS, RATINGS, Score
from quincunx_env.registry import GAMES, make_observer, make_rules, spec_of

__version__ = "0.1.0"

__all__ = [
    "GAMES",
    "RATINGS",
    "Agent",
    "Batch",
    "BatchedGames",
    "CardGameAEC",
    "Deal",
    "Game",
    "GameSpec",
    "IllegalAction",
    "Observer",
    "PaddedObserver",
    "Policy",
    "PolicyFactory",
    "Position",
    "Record",
    "Rules",
    "Score",
    "SolitaireEnv",
    "SolitaireVectorEnv",
    "StepResult",
    "VsOpponentsEnv",
    "VsOpponentsVectorEnv",
    "__version__",
    "card_name",
    "make_observer",
    "make_rules",
    "parse_action",
    "parse_card",
    "print_action",
    "quincunx_v0",
    "registered_policies",
    "resample",
    "resolve",
    "rules_card",
    "sample_action",
    "sampling_mask",
    "spec_of",
    "spiral",
    "spiral_v0",
    "to_json",
    "to_text",
]

register(
    id="Quincunx/Solitaire-v0",
    entry_point="quincunx_env.envs.solitaire:SolitaireEnv",
    vector_entry_point="quincunx_env.envs.solitaire:SolitaireVectorEnv",
    reward_threshold=RATING_STEPS[-1],  # a mean in the highest class of the rules (RULES.md 1.5)
)

# No threshold: what a reward means depends on the opponents and on the option `reward`.
register(
    id="Quincunx/VsOpponents-v0",
    entry_point="quincunx_env.envs.vs_opponents:VsOpponentsEnv",
    vector_entry_point="quincunx_env.envs.vs_opponents:VsOpponentsVectorEnv",
)

if hasattr(pettingzoo, "register"):  # since PettingZoo 1.27
    pettingzoo.register("aec", "Quincunx/Quincunx-v0", entry_point="quincunx_env.quincunx_v0:env")
    pettingzoo.register("aec", "Quincunx/Spiral-v0", entry_point="quincunx_env.spiral_v0:env")
