"""Quincunx and the spiral game as vectorised reinforcement-learning environments.

Both are card games on a grid. This page is the public interface; `help` of each name has the details.

Environments, by library:

- Gymnasium: ``Quincunx/Solitaire-v0`` (`SolitaireEnv`, `SolitaireVectorEnv`) and ``Quincunx/VsOpponents-v0``, one agent
  against policies (`VsOpponentsEnv`, `VsOpponentsVectorEnv`).
- Gymnasium with prompts and answers as text, for language models: ``Quincunx/Text-v0``
  (`quincunx_env.envs.text`).
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
`Batch` (many games in NumPy arrays), `Observer` (observations and masks) of Quincunx. `spiral` has the same classes of
the spiral game. `make_observer` selects by rules; `quincunx_env.registry` has all games. `resample` samples games
consistent with an observation.

Policies: `quincunx_env.core.policy` has the protocols; `registered_policies` lists the installed agents by name and
`resolve` imports one. `quincunx_env.arena` evaluates and compares them, ``quincunx play`` plays against them.

Notation: `to_text`, `print_action`, `parse_action`, `card_name`, `parse_card`, and `Record` for whole games;
`rules_card` has the rules in short. `quincunx_env.notation.prompts` is for language models.
"""

import lazy_loader
import pettingzoo
from gymnasium.envs.registration import register

from quincunx_env.utils.notebook import PAINTERS

__version__ = "0.1.0"

# The names stand in ``__init__.pyi`` alone, which type checkers read. Each is imported at its first use.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

PAINTERS |= {
    "svg": "quincunx_env.render.notebook:picture_of",
    "html": "quincunx_env.render.notebook:player_of",
    "text": "quincunx_env.notation.text:to_text",
}

# Variants of an id by their options: for programs that are given an id and nothing else (docs/libraries.md).
_LEARNED = {"observation": "vector", "preview": True, "actions": "hand", "illegal": "next"}
_IDS = {
    "": {},
    "Flat": _LEARNED,
    "Masked": _LEARNED | {"mask_in": "obs"},
}
for _suffix, _options in _IDS.items():
    register(
        id=f"Quincunx/Solitaire{_suffix}-v0",
        entry_point="quincunx_env.envs.solitaire:SolitaireEnv",
        vector_entry_point="quincunx_env.envs.solitaire:make_solitaire_vec",
        reward_threshold=150,  # a mean in the highest class of the rules (RULES.md 1.5), `RATING_STEPS`
        kwargs=_options,
    )
    # No threshold: what a reward means depends on the opponents and on the option `reward`.
    register(
        id=f"Quincunx/VsOpponents{_suffix}-v0",
        entry_point="quincunx_env.envs.vs_opponents:VsOpponentsEnv",
        vector_entry_point="quincunx_env.envs.vs_opponents:make_vs_opponents_vec",
        kwargs=_options,
    )

register(id="Quincunx/Text-v0", entry_point="quincunx_env.envs.text:TextEnv")

if hasattr(pettingzoo, "register"):  # since PettingZoo 1.27
    for _game in ("quincunx", "spiral"):
        for _kind, _make in (("aec", "env"), ("parallel", "parallel_env")):
            pettingzoo.register(_kind, f"Quincunx/{_game.title()}-v0", entry_point=f"quincunx_env.{_game}_v0:{_make}")
