"""Quincunx by Chris DeLeo, played with the Decktet (RULES.md Part 1)."""

from quincunx_env.core.spec import Deferred, GameSpec, Solitaire
from quincunx_env.quincunx.batch import Batch, ratings
from quincunx_env.quincunx.deal import Deal
from quincunx_env.quincunx.game import Game
from quincunx_env.quincunx.observation import Observer
from quincunx_env.quincunx.rules import MINI_SETUPS, SETUPS, Rules, multiplayer_rules, solitaire_rules, title
from quincunx_env.quincunx.scoring import RATINGS

__all__ = ["SPEC", "Batch", "Deal", "Game", "Observer", "Rules", "multiplayer_rules"]


def _named(*names: str) -> dict[str, Rules]:
    """Return rules by name: the start, then options that are on."""
    found = {}
    for name in names:
        start, *options = name.split("+")
        players, start = (1, "corners") if start == "solitaire" else (int(start[0]), start[2:])
        found[name] = Rules(players, start, **dict.fromkeys(options, True))  # type: ignore[arg-type]  # plain strings
    return found


GENERALISATION = {
    "combinations": (  # each option in training, alone and in some pairs
        _named(
            *("solitaire", "solitaire+edge_contact", "solitaire+excuse", "solitaire+pawns", "solitaire+flush"),
            *("solitaire+edge_contact+flush", "solitaire+excuse+pawns", "solitaire+edge_contact+excuse"),
        ),
        _named(
            *("solitaire+edge_contact+pawns", "solitaire+excuse+flush", "solitaire+pawns+flush"),
            *("solitaire+edge_contact+excuse+pawns", "solitaire+edge_contact+excuse+flush"),
            *("solitaire+edge_contact+pawns+flush", "solitaire+excuse+pawns+flush"),
            "solitaire+edge_contact+excuse+pawns+flush",
        ),
    ),
    "seats": (_named("2-corners", "2-open"), _named("3-corners", "3-open", "4-corners", "4-open")),
    "rules-never-met": (  # edge contact, the Excuse and the flush are left out of training
        _named("solitaire", "solitaire+pawns"),
        _named(
            *("solitaire+edge_contact", "solitaire+excuse", "solitaire+flush", "solitaire+edge_contact+excuse"),
            *("solitaire+edge_contact+flush", "solitaire+excuse+flush", "solitaire+edge_contact+excuse+flush"),
        ),
    ),
}

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
    solitaire=Solitaire(solitaire_rules, RATINGS, ratings),
    title=title,
    tasks={
        "solitaire": Rules(),
        "2-corners": Rules(num_players=2),
        "2-open": Rules(num_players=2, start="open"),
        "3-corners": Rules(num_players=3),
        "4-corners": Rules(num_players=4),
    },
    generalisation=GENERALISATION,
    Deal=Deal,
    Game=Game,
    Batch=Batch,
    Observer=Observer,
    PaddedObserver=Deferred("quincunx_env.quincunx.padded:PaddedObserver"),
    Notation=Deferred("quincunx_env.quincunx.notation:Notation"),
    rules_card=Deferred("quincunx_env.quincunx.rules_card:rules_card"),
    examples=Deferred("quincunx_env.quincunx.rules_card:examples"),
    sentences=Deferred("quincunx_env.quincunx.rules_card:sentences"),
    scene=Deferred("quincunx_env.quincunx.render:scene"),
    candidate=Deferred("quincunx_env.quincunx.render:candidate"),
)
