"""Quincunx and the spiral game as vectorised reinforcement-learning environments.

Both are card games on a grid. This page is the public interface; `help` of each name has the details.

Environments, by library:

- Gymnasium: ``Quincunx/Solitaire-v0`` (`SolitaireEnv`, `SolitaireVectorEnv`) and ``Quincunx/VsOpponents-v0``, one agent
  against policies (`VsOpponentsEnv`, `VsOpponentsVectorEnv`).
- Gymnasium with prompts and answers as text, for language models: ``Quincunx/Text-v0`` (`TextEnv`).
- PettingZoo: `quincunx_v0` for two to four players, `spiral_v0` for two.
- Neither: `BatchedGames` steps thousands of games for several players and shows all seats.
- ``quincunx_env.adapters.sb3`` and ``quincunx_env.adapters.rllib`` adapt them to stable-baselines3 and Ray RLlib;
  ``quincunx_env.adapters.openspiel`` adapts the games to OpenSpiel.
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
perfect information, ``quincunx play`` plays against them.

Notation: `to_text`, `to_json`, `print_action`, `parse_action`, `card_name`, `parse_card`, and `Record` for whole
games; `rules_card` has the rules in short. `prompt` and `read_action` are for language models.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pettingzoo
from gymnasium.envs.registration import register

from quincunx_env.utils.notebook import PAINTERS

__version__ = "0.1.0"

_PUBLIC = {
    "quincunx_env.core.game": ("IllegalAction",),
    "quincunx_env.core.policy": ("Agent", "Policy", "PolicyFactory"),
    "quincunx_env.core.resample": ("resample",),
    "quincunx_env.core.spec": ("GameSpec",),
    "quincunx_env.envs.aec": ("CardGameAEC",),
    "quincunx_env.envs.batched": ("BatchedGames", "Position", "StepResult"),
    "quincunx_env.envs.codec": ("sample_action", "sampling_mask"),
    "quincunx_env.envs.solitaire": ("SolitaireEnv", "SolitaireVectorEnv"),
    "quincunx_env.envs.text": ("TextEnv",),
    "quincunx_env.envs.vs_opponents": ("VsOpponentsEnv", "VsOpponentsVectorEnv"),
    "quincunx_env.notation.prompts": ("prompt", "read_action"),
    "quincunx_env.notation.record": ("Record",),
    "quincunx_env.notation.rules_card": ("rules_card",),
    "quincunx_env.notation.text": ("parse_action", "print_action", "to_json", "to_text"),
    "quincunx_env.policies": ("registered_policies", "resolve"),
    "quincunx_env.quincunx": ("Batch", "Deal", "Game", "Observer", "PaddedObserver", "Rules"),
    "quincunx_env.quincunx.cards": ("card_name", "parse_card"),
    "quincunx_env.quincunx.scoring": ("RATINGS", "Score"),
    "quincunx_env.registry": ("GAMES", "make_observer", "make_rules", "spec_of"),
}
"""The public names by the module that defines them; quincunx_v0, spiral and spiral_v0 are modules."""

_MODULE_OF = {name: module for module, names in _PUBLIC.items() for name in names}

__all__ = sorted([*_MODULE_OF, "quincunx_v0", "spiral", "spiral_v0"])

if TYPE_CHECKING:
    from quincunx_env import quincunx_v0 as quincunx_v0
    from quincunx_env import spiral as spiral
    from quincunx_env import spiral_v0 as spiral_v0
    from quincunx_env.core.game import IllegalAction as IllegalAction
    from quincunx_env.core.policy import Agent as Agent
    from quincunx_env.core.policy import Policy as Policy
    from quincunx_env.core.policy import PolicyFactory as PolicyFactory
    from quincunx_env.core.resample import resample as resample
    from quincunx_env.core.spec import GameSpec as GameSpec
    from quincunx_env.envs.aec import CardGameAEC as CardGameAEC
    from quincunx_env.envs.batched import BatchedGames as BatchedGames
    from quincunx_env.envs.batched import Position as Position
    from quincunx_env.envs.batched import StepResult as StepResult
    from quincunx_env.envs.codec import sample_action as sample_action
    from quincunx_env.envs.codec import sampling_mask as sampling_mask
    from quincunx_env.envs.solitaire import SolitaireEnv as SolitaireEnv
    from quincunx_env.envs.solitaire import SolitaireVectorEnv as SolitaireVectorEnv
    from quincunx_env.envs.text import TextEnv as TextEnv
    from quincunx_env.envs.vs_opponents import VsOpponentsEnv as VsOpponentsEnv
    from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv as VsOpponentsVectorEnv
    from quincunx_env.notation.prompts import prompt as prompt
    from quincunx_env.notation.prompts import read_action as read_action
    from quincunx_env.notation.record import Record as Record
    from quincunx_env.notation.rules_card import rules_card as rules_card
    from quincunx_env.notation.text import parse_action as parse_action
    from quincunx_env.notation.text import print_action as print_action
    from quincunx_env.notation.text import to_json as to_json
    from quincunx_env.notation.text import to_text as to_text
    from quincunx_env.policies import registered_policies as registered_policies
    from quincunx_env.policies import resolve as resolve
    from quincunx_env.quincunx import Batch as Batch
    from quincunx_env.quincunx import Deal as Deal
    from quincunx_env.quincunx import Game as Game
    from quincunx_env.quincunx import Observer as Observer
    from quincunx_env.quincunx import PaddedObserver as PaddedObserver
    from quincunx_env.quincunx import Rules as Rules
    from quincunx_env.quincunx.cards import card_name as card_name
    from quincunx_env.quincunx.cards import parse_card as parse_card
    from quincunx_env.quincunx.scoring import RATINGS as RATINGS
    from quincunx_env.quincunx.scoring import Score as Score
    from quincunx_env.registry import GAMES as GAMES
    from quincunx_env.registry import make_observer as make_observer
    from quincunx_env.registry import make_rules as make_rules
    from quincunx_env.registry import spec_of as spec_of
else:

    def __getattr__(name: str) -> object:
        """Import a public name, or a submodule, at its first use."""
        if name in _MODULE_OF:
            return getattr(import_module(_MODULE_OF[name]), name)
        if not name.startswith("_") and find_spec(f"{__name__}.{name}"):
            return import_module(f"{__name__}.{name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})


def _draw(shown: object) -> str | None:
    """Draw a game, a deal or a record. The renderer is imported when a notebook asks for a picture."""
    from quincunx_env.render.notebook import picture_of

    return picture_of(shown)


def _player(shown: Any) -> str:
    """Return a record's replay player, as an element of a page."""
    from quincunx_env.render.replay_page import embedded, replay_page

    return embedded(replay_page([shown]))


def _write(shown: Any) -> str:
    """Write a position as text."""
    from quincunx_env.notation.text import to_text

    return to_text(shown)


PAINTERS |= {"svg": _draw, "html": _player, "text": _write}

# Variants of an id by their options: for programs that are given an id and nothing else (docs/libraries.md).
_IDS: dict[str, dict[str, Any]] = {
    "": {},
    "Flat": {"observation": "float32", "illegal": "next"},
    "Masked": {"observation": "float32", "illegal": "next", "mask_in": "obs"},
}
for _suffix, _options in _IDS.items():
    register(
        id=f"Quincunx/Solitaire{_suffix}-v0",
        entry_point="quincunx_env.envs.solitaire:SolitaireEnv",
        vector_entry_point="quincunx_env.envs.solitaire:SolitaireVectorEnv",
        reward_threshold=150,  # a mean in the highest class of the rules (RULES.md 1.5), `RATING_STEPS`
        kwargs=_options,
    )
    # No threshold: what a reward means depends on the opponents and on the option `reward`.
    register(
        id=f"Quincunx/VsOpponents{_suffix}-v0",
        entry_point="quincunx_env.envs.vs_opponents:VsOpponentsEnv",
        vector_entry_point="quincunx_env.envs.vs_opponents:VsOpponentsVectorEnv",
        kwargs=_options,
    )

register(id="Quincunx/Text-v0", entry_point="quincunx_env.envs.text:TextEnv")

if hasattr(pettingzoo, "register"):  # since PettingZoo 1.27
    pettingzoo.register("aec", "Quincunx/Quincunx-v0", entry_point="quincunx_env.quincunx_v0:env")
    pettingzoo.register("aec", "Quincunx/Spiral-v0", entry_point="quincunx_env.spiral_v0:env")
