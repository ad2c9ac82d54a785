"""Write the page that plays without the package, ``_static/game.html`` of the site.

It is one file that loads nothing. Tables, texts and drawings come from the package.

    python -m docs.game_page             # write it to build/game.html
    python -m docs.game_page runs/ppo    # take the network of the hints from a run of train.ppo
"""

import hashlib
import json
import re
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from jinja2 import Environment, FileSystemLoader
from markupsafe import Markup

from quincunx_env import Game, Rules
from quincunx_env.core.scene import Scene, place_name
from quincunx_env.play.daily import page_of
from quincunx_env.play.lessons import lessons
from quincunx_env.play.web.pages import KEYS, colours, suits, with_suits
from quincunx_env.play.web.rules_pictures import pictures
from quincunx_env.quincunx import scoring
from quincunx_env.quincunx.cards import BASIC_DECK, CARDS
from quincunx_env.quincunx.rules_card import sentences
from quincunx_env.registry import make_observer, spec_of
from quincunx_env.render.animation import parts_of
from quincunx_env.render.svg import THEMES, draw_card
from quincunx_env.render.words import pieces_of
from quincunx_env.utils.files import write_text

FOLDER = Path(__file__).with_name("game")
SCRIPTS = ("engine.js", "network.js", "memory.js", "texts.js", "page.js")
NETWORK = FOLDER / "network.json"
WEB = Path(__file__).parents[1] / "quincunx_env" / "play" / "web"
RULES = {players: Rules(num_players=players) for players in (1, 2)}
"""The set-ups that the page plays, by number of players."""

KINDS = {"basic": "neighbours", "three": "three of a kind", "power": "power play"}
"""Kinds of points in words for strangers."""

MIDDLE, LEVELS = 80, 45
"""Code of the letter that stands for a weight of 0, and levels on either side."""


def game_page() -> str:
    """Return the page as an HTML document."""
    scene = spec_of(RULES[1]).scene(Game.from_seed(RULES[1], 0))
    drawn = [parts_of(draw_card(scene, card)) for card in BASIC_DECK]
    shared = dict.fromkeys(line for definitions, _ in drawn for line in definitions)
    cards = (f'<g id="card{card}">{"".join(lines)}</g>' for card, (_, lines) in enumerate(drawn))
    script, style = _text(*SCRIPTS), _text(WEB / "static" / "style.css", "page.css")
    data = _tables(scene) | {"lesson": _lesson(scene), "network": json.loads(_text(NETWORK))}
    environment = Environment(loader=FileSystemLoader([FOLDER, WEB / "templates"]), autoescape=True, trim_blocks=True)
    return environment.get_template("page.html").render(
        style=Markup(colours() + style),
        themes=THEMES,
        preview=urljoin(page_of(0, 0), "preview.png"),  # a picture of a game, which docs/conf.py puts beside the page
        lesson=data["lesson"]["title"],
        icon=b64encode((WEB / "static" / "icon.svg").read_bytes()).decode(),
        drawings=Markup("".join([*shared, *cards])),
        pictures=[(_drawing(picture), text) for picture, text in pictures(RULES[1])],
        sentences={players: sentences(rules) for players, rules in RULES.items()},
        suits=[(_drawing(suit), name) for suit, name in suits(scene)],
        mean=data["network"]["mean"],
        data=Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")),
        script=Markup(script),
        digest=b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )


def _text(*files: str | Path) -> str:
    return "".join((FOLDER / file).read_text(encoding="utf-8") for file in files)


def _drawing(svg: str) -> Markup:
    """Return a drawing that takes emblems of suits from the page."""
    return Markup(re.sub(r'<g id="(suit-\w+)".*?</g>', r'<use href="#\1"/>', svg))


def _tables(scene: Scene) -> dict[str, Any]:
    """Return the tables of the scripts."""
    cards = [CARDS[card]._asdict() for card in BASIC_DECK]
    for number, card in enumerate(cards):
        card |= {"order": scoring.rank_order(number, RULES[1].ranks), "penalty": scoring.penalty([number])}
        card |= {"words": scene.faces[number].words, "html": _drawing("".join(pieces_of(scene.faces[number])))}
    setups = {players: rules.setup._asdict() | {"lines": rules.num_lines} for players, rules in RULES.items()}
    for players, setup in setups.items():
        setup["places"] = [place_name(*RULES[players].grid.place(cell)) for cell in range(RULES[players].num_cells)]
    points: dict[str, Any] = {"three": scoring.THREE_BONUS, "straight": scoring.STRAIGHT_BONUS}
    points |= {"pair": scoring.PAIR_BONUS, "draws": scoring.DRAWING_SUMS}
    return {"cards": cards, "setups": setups, "points": points, "kinds": KINDS, "keys": KEYS}


def _lesson(scene: Scene) -> dict[str, Any]:
    """Return the guided game of the solitaire: its deal, plays, and sentences as HTML."""
    lesson = lessons()["solitaire"]
    session, steps = lesson.session(), []
    for step in lesson.steps:
        action = session.parse(step.play)
        card, cell = divmod(action, RULES[1].num_cells)
        cells = [row * RULES[1].setup.side + column for row, column in step.cells]
        html = _drawing(with_suits(step.text, scene))
        steps.append({"card": card, "cell": cell, "cells": cells, "html": html})
        session.play(action)
    return {"title": lesson.title, "seed": lesson.seed, "end": lesson.end, "steps": steps}


def take_network(run: Path) -> None:
    """Write the network of a run. Each weight is rounded to a level, which is a letter of ASCII."""
    from sb3_contrib import MaskablePPO

    layers = {}
    for name, tensor in MaskablePPO.load(run / "model.zip", device="cpu").policy.mlp_extractor.state_dict().items():
        step = float(tensor.abs().max()) / LEVELS
        levels = (tensor / step).round().int().flatten().tolist()
        layers[name] = {"step": step, "weights": "".join(chr(MIDDLE + level) for level in levels)}
    results = json.loads((run / f"{run.name}.json").read_text(encoding="utf-8"))
    facts = {"command": results["command"], "mean": round(results["benchmark"]["solitaire"]["mean"])}
    observer = make_observer(RULES[1], preview=True)
    encodings: dict[str, Any] = {piece.name: piece.encoding for piece in observer.pieces}
    facts |= {"places": observer.places.places, "features": encodings["board"].table.astype(int).tolist()}
    facts |= {"middle": MIDDLE, "units": [*encodings["preview"].unit, *encodings["counts"].unit]}
    NETWORK.write_text(json.dumps(facts | {"layers": layers}), encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1:]:
        take_network(Path(sys.argv[1]))
    else:
        path = Path("build", "game.html")
        path.parent.mkdir(exist_ok=True)
        write_text(path, game_page())
        print(f"open {path} in a browser")
