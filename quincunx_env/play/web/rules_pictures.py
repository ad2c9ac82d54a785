"""The rules of a game in pictures, for people. `quincunx_env.notation.rules_card` is for language models."""

from dataclasses import replace
from functools import lru_cache

from quincunx_env.core.cards import EMPTY
from quincunx_env.core.rules import BaseRules
from quincunx_env.core.scene import Example, Scene, ScoredPlay
from quincunx_env.registry import spec_of
from quincunx_env.render.svg import draw_part


def scene_of(rules: BaseRules, example: Example) -> tuple[Scene, ScoredPlay]:
    """Return the scene of an example, and its play with score."""
    spec = spec_of(rules)
    # Only whether diagonals count depends on the options, and the pictures have none.
    game = spec.Game.from_seed(spec.Rules() if rules.num_players == 1 else spec.multiplayer_rules(), 0)
    dealt = spec.scene(game)
    side, ids = dealt.side, {face.name: card for card, face in enumerate(dealt.faces)}
    played, board = (0, 0), {}
    for row, names in enumerate(example.rows):
        for column, name in enumerate(names.split()):
            if name.endswith("*"):
                played = ids[name[:-1]], row * side + column
            elif name != ".":
                board[row * side + column] = ids[name]
    for cell in range(len(game.board)):
        game.board[cell] = board.get(cell, EMPTY)
    columns = max(len(names.split()) for names in example.rows)
    scene = replace(
        dealt,
        board=board,
        rows=range(len(example.rows)),
        columns=range(columns),
        max_side=max(columns, len(example.rows), 3),
        legal=frozenset(),
        last=None,
    )
    return scene, spec.candidate(game, *played)


@lru_cache(maxsize=32)
def pictures(rules: BaseRules) -> list[tuple[str, str]]:
    """Return (picture as SVG, sentence) of each example."""
    found = []
    for example in spec_of(rules).examples(rules):
        scene, play = scene_of(rules, example)
        svg = draw_part(scene, play).replace(
            "<svg", f'<svg class="columns{len(scene.columns)} rows{len(scene.rows)}"', 1
        )
        found.append((svg, example.text))
    return found
