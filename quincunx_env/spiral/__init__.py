"""The spiral game by David Parlett, with 52 cards (RULES.md Part 2)."""

from quincunx_env.core.spec import Deferred, GameSpec
from quincunx_env.spiral.batch import Batch
from quincunx_env.spiral.deal import Deal
from quincunx_env.spiral.game import Game
from quincunx_env.spiral.observation import Observer
from quincunx_env.spiral.rules import Rules, title

__all__ = ["SPEC", "Batch", "Deal", "Game", "Observer", "Rules"]

SPEC = GameSpec(
    name="spiral",
    Rules=Rules,
    setups=(Rules(deals=1),),
    multiplayer_rules=Rules,
    solitaire=None,
    title=title,
    tasks={"spiral": Rules()},
    generalisation={},
    Deal=Deal,
    Game=Game,
    Batch=Batch,
    Observer=Observer,
    PaddedObserver=None,
    Notation=Deferred("quincunx_env.spiral.notation:Notation"),
    rules_card=Deferred("quincunx_env.spiral.rules_card:rules_card"),
    examples=Deferred("quincunx_env.spiral.rules_card:examples"),
    sentences=Deferred("quincunx_env.spiral.rules_card:sentences"),
    scene=Deferred("quincunx_env.spiral.render:scene"),
    candidate=Deferred("quincunx_env.spiral.render:candidate"),
)
