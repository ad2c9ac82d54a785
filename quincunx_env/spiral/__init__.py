"""The spiral game by David Parlett, with 52 cards (RULES.md Part 2)."""

from quincunx_env.core.spec import GameSpec
from quincunx_env.spiral import render, rules_card
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.deal import Deal
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.notation import Notation
from quincunx_env.spiral.observation import Observer
from quincunx_env.spiral.rules import Rules, title

__all__ = ["SPEC", "Batch", "Deal", "Game", "Observer", "Rules"]

SPEC = GameSpec(
    name="spiral",
    Rules=Rules,
    setups=(Rules(deals=1),),
    multiplayer_rules=Rules,
    title=title,
    tasks={"spiral": Rules()},
    generalisation={},
    Deal=Deal,
    Game=Game,
    Batch=Batch,
    Observer=Observer,
    PaddedObserver=None,
    notation=Notation(),
    rules_card=rules_card.rules_card,
    examples=rules_card.examples,
    sentences=rules_card.sentences,
    ansi=render.ansi,
    scene=render.scene,
    candidate=render.candidate,
)
