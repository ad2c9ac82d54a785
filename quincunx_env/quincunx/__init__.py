"""Quincunx by Chris DeLeo, played with the Decktet (RULES.md Part 1)."""

from quincunx_env.core.spec import GameSpec
from quincunx_env.quincunx import render, rules_card
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.notation import Notation
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.padded import PaddedObserver
from quincunx_env.quincunx.rules import MINI_SETUPS, SETUPS, Rules, multiplayer_rules, title

__all__ = ["SPEC", "Batch", "Deal", "Game", "Observer", "PaddedObserver", "Rules", "multiplayer_rules"]

SPEC = GameSpec(
    name="quincunx",
    Rules=Rules,
    setups=(
        *(
            Rules(players, start, excuse=excuse, pawns=pawns)  # type: ignore[arg-type]  # the keys are plain strings
            for players, start in SETUPS
            for excuse in (False, True)
            for pawns in (False, True)
        ),
        *(Rules(players, mini=True) for players in MINI_SETUPS),
    ),
    multiplayer_rules=multiplayer_rules,
    title=title,
    tasks={
        "solitaire": Rules(),
        "2-corners": Rules(num_players=2),
        "2-open": Rules(num_players=2, start="open"),
        "3-corners": Rules(num_players=3),
        "4-corners": Rules(num_players=4),
    },
    Deal=Deal,
    Game=Game,
    Batch=Batch,
    Observer=Observer,
    PaddedObserver=PaddedObserver,
    notation=Notation(),
    rules_card=rules_card.rules_card,
    examples=rules_card.examples,
    sentences=rules_card.sentences,
    ansi=render.ansi,
    scene=render.scene,
    candidate=render.candidate,
)
