"""Replay player: games as a single HTML page.

The page needs no network and no server.

>>> from quincunx_env import Rules
>>> page = replay_page([Record(Rules(), Seeded(0), actions=(33,))])
>>> page.startswith("<!doctype html>")
True

The renderer draws the pictures. Their elements are stored once and shared by all positions, so that a position takes
about 2 kB. The script (``replay_page.js``) puts the elements together and steps through the positions.
"""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np
import numpy.typing as npt

from quincunx_env.core.game import SomeGame
from quincunx_env.core.scene import Scene
from quincunx_env.notation.ending import ending
from quincunx_env.notation.record import Record, Seeded
from quincunx_env.notation.text import print_action
from quincunx_env.registry import spec_of
from quincunx_env.render import svg
from quincunx_env.render.animation import Element, Shared
from quincunx_env.render.words import for_people, minus, pieces_of, players, scene_for_people

Values = Callable[[SomeGame], npt.ArrayLike | None]
"""Function that values the plays of the seat to move, [cards, cells], NaN for none, as `quincunx_env.arena.explain`.
It may have no values of a position."""

_SMALL, _LARGE = 150, 450
"""Width of a name, at its full size, that the renderer can make fit the box of a seat and that is still readable."""

_BEST = 3
"""Plays that are named with their values."""


def replay_page(
    records: Sequence[Record],
    *,
    seat: int | None = None,
    values: Values | None = None,
    valued_by: str = "an agent",
    you: int | None = None,
    back: tuple[str, str] | None = None,
    when: str = "",
) -> str:
    """Write a page that steps through games: pictures, parts of the scores, the curve of the points.

    Args:
        records: the games, of which the page shows the first until another is chosen.
        seat: the seat from whose point of view they are shown, the other hands face down; None shows all hands.
        values: returns an agent's values of the plays in a position. The page shows them as a heat map, the best card
            of each cell, and names the best plays. From the point of view of a seat it shows only this seat's values.
        valued_by: name of that agent.
        you: the seat of the reader, who is called You.
        back: address and text of a link to the page from which the reader comes.
        when: date and time of the games, as text.

    Returns:
        A complete HTML document. It contains no address but ``back``, and its policy forbids to load anything.

    Raises:
        ValueError: if there is no game or no such seat, or the values have another shape.
    """
    if not records:
        raise ValueError("a replay shows at least one game")
    shared = Shared()
    games: list[dict[str, Any]] = [
        {
            "name": _name(record, you),
            "title": spec_of(record.rules).scene(record.game(0), seat).title,
            "positions": [*_positions(record, seat, values, shared, you)],
            "curve": _curve(record, you),
            "players": _players(record, you),
        }
        for record in records
    ]
    said = (position[text] for game in games for position in game["positions"] for text in ("caption", "thoughts"))
    named, cards = {*re.findall(r"\w+", " ".join(said))}, dict[str, list[int]]()
    for record in records:
        cards |= _names(record, named, shared)
    data = {"elements": [*map(_compact, shared.elements)], "cards": cards, "games": games}
    script = _read("replay_page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return Template(_read("replay_page.html")).substitute(
        title=html.escape(str(games[0]["title"])),
        dark=_variables("dark"),
        light=_variables("light"),
        definitions="".join(shared.definitions),
        values=html.escape(f"Values of {valued_by}"),
        back=f'<a class="button" href="{html.escape(back[0])}">{html.escape(back[1])}</a>' if back else "",
        when=f"<time>{html.escape(when)}</time>" if when else "",
        data=json.dumps(data, **_COMPACT).replace("<", "\\u003c"),  # so that no text can end the element
        script=script,
        digest=f"sha256-{digest}",
    )


def embedded(page: str) -> str:
    """Wrap a page for another page or a notebook, which the page cannot change."""
    content = page.replace("&", "&amp;").replace('"', "&quot;")
    style = "width: 100%; max-width: 960px; height: 860px; border: 0"
    return f'<iframe title="Replay" sandbox="allow-scripts" style="{style}" srcdoc="{content}"></iframe>'


_EMBLEM = re.compile(r'<g id="(suit-\w+)".*</g>')
"""The emblem of a suit, which the pictures define."""

_COMPACT: Any = {"separators": (",", ":"), "ensure_ascii": False}


def _read(name: str) -> str:
    return files("quincunx_env.render").joinpath(name).read_text(encoding="utf-8")


def _variables(theme: svg.ThemeName) -> str:
    return " ".join(f"--{name}: {colour};" for name, colour in svg.THEMES[theme]._asdict().items())


def _called(record: Record, you: int | None) -> list[str]:
    """Return how the players are called."""
    return players(record.seats or [""] * record.rules.num_players, you)


def _name(record: Record, you: int | None) -> str:
    """Return players, deal and points of a game."""
    dealt = record.dealt
    deal = f"deal {dealt.seed} ({dealt.domain})" if isinstance(dealt, Seeded) else "given deal"
    return f"{', '.join((*_called(record, you), deal))}: {' : '.join(map(minus, record.game().totals))} points"


# --- Pictures --------------------------------------------------------------------------------------------------------


def _names(record: Record, named: Collection[str], shared: Shared) -> dict[str, list[int]]:
    """Return the elements of HTML with the name of each ``named`` card."""
    faces = (face for face in spec_of(record.rules).scene(record.game(0)).faces if face.name in named)
    return {
        face.name: [shared.number([_EMBLEM.sub(r'<use href="#\1"/>', piece)]) for piece in pieces_of(face)]
        for face in faces
    }


def _compact(element: Element) -> Element:
    """Return an element that needs no backslashes in JSON, where possible."""
    return element.replace('"', "'") if isinstance(element, str) and "'" not in element else element


def _positions(
    record: Record, seat: int | None, values: Values | None, shared: Shared, you: int | None
) -> Iterator[dict[str, Any]]:
    """Yield the positions of a game, each with its picture, the picture with values, and the words about them."""
    names = _called(record, you)
    for number in range(len(record.actions) + 1):
        game = record.shown(number)
        scene = _untitled(scene_for_people(spec_of(record.rules).scene(game, seat), names))
        position: dict[str, Any] = {"picture": shared.add(svg.draw(scene, theme=svg.PAGE)), "thoughts": ""}
        position["points"] = [*map(minus, game.totals)]
        caption = [for_people(str(record.turns[number - 1]), names) if number else "The deal"]
        end = ending(game, names, you)
        position["caption"] = minus(". ".join([*caption, *([end.headline] if end else [])]))
        asked = values and not game.over and scene.pending is None and seat in (None, game.mover)
        if asked and values and (valued := values(game)) is not None:
            table = _table(valued, game)
            known, cards = svg.best_cards(table.tolist())
            position["valued"] = shared.add(svg.draw(scene, theme=svg.PAGE, values=known, cards=cards))
            thoughts = _thoughts(game, table, record.actions[number : number + 1])
            position["thoughts"] = minus(for_people(thoughts))
        yield position


def _untitled(scene: Scene) -> Scene:
    """Return the scene without title, which the page has. Names are cut where there is no room."""
    seats = []
    for number, shown in enumerate(scene.seats):
        room, name = _LARGE if scene.seat in (None, number) else _SMALL, shown.name
        while svg.font().width(name, 18) > room:
            name = f"{name.removesuffix('…')[:-1]}…"
        seats.append(shown._replace(name=name))
    return replace(scene, title="", seats=seats)


def _table(values: npt.ArrayLike, game: SomeGame) -> npt.NDArray[np.float64]:
    table, shape = np.asarray(values, np.float64), (game.rules.num_cards, game.rules.num_cells)
    if table.shape != shape:
        raise ValueError(f"values must have the shape [cards, cells], {list(shape)}, got {list(table.shape)}")
    return table


def _thoughts(game: SomeGame, table: npt.NDArray[np.float64], actions: Sequence[int]) -> str:
    """Name the plays of the highest values, then the value of the play that follows."""
    notation = spec_of(game.rules).notation
    plays = {action: table[notation.decode_play(game, action)] for action in notation.legal_plays(game)}
    known = {action: value for action, value in plays.items() if np.isfinite(value)}
    best = sorted(known, key=lambda action: -known[action])[:_BEST]
    texts = {
        action: f"{print_action(game, action)} {known[action]:z.1f}" for action in (*best, *actions) if action in known
    }
    following = "".join(f"; the next play {texts[action]}" for action in actions if action in texts)
    return f"Best values: {', '.join(texts[action] for action in best)}{following}" if best else ""


# --- The curve of the points -----------------------------------------------------------------------------------------


def _curve(record: Record, you: int | None) -> str:
    """Draw the points of each seat after each action, as HTML."""
    seats = range(record.rules.num_players)
    gains = np.array([[0] * len(seats), *(turn.gains for turn in record.turns)])
    totals = gains.cumsum(axis=0)
    low, high = int(totals.min()), max(int(totals.max()), 1)
    last = max(len(record.actions), 1)
    lines = "".join(
        f'<polyline class="seat{seat}" points="{" ".join(f"{at},{high - total}" for at, total in enumerate(own))}"/>'
        for seat, own in enumerate(totals.T.tolist())
    )
    zero = f'<line x1="0" x2="{last}" y1="{high}" y2="{high}"/>' if low < 0 else ""
    names = _called(record, you)
    label = "; ".join(f"{name}, {minus(total)} points" for name, total in zip(names, totals[-1].tolist(), strict=True))
    return (
        f'<div class="curve" role="img" aria-label="Points after each play. At the end: {html.escape(label)}">'
        f'<svg viewBox="0 0 {last} {high - low}" preserveAspectRatio="none">{zero}{lines}</svg>'
        f'<span class="top">{high}</span><span class="bottom">{minus(low)}</span><div id="now"></div></div>'
    )


def _players(record: Record, you: int | None) -> str:
    """Return the players as items of a list, with room for points."""
    return "".join(
        f'<li><svg viewBox="0 0 22 7" aria-hidden="true"><line class="seat{seat}" x2="22" y1="3.5" y2="3.5"'
        f' stroke-width="2.5"/></svg>{html.escape(name)}<output></output></li>'
        for seat, name in enumerate(_called(record, you))
    )
