"""Tasks with exact answers: their values against plain expectimax, their names, their scores."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from itertools import combinations
from math import comb
from typing import Any

import pytest

from quincunx_agents.tasks import LEVELS, Names, Task, make_task
from quincunx_env import Game
from quincunx_env.quincunx.cards import CARDS, SUITS
from tests.reference_game import NAMES, SCORED
from tests.reference_scorer import penalty, score_play

NUMBERS = range(20)


def by_expectimax(game: Game) -> dict[int, float]:
    """The value of each action: over copies of the game, and every set of cards that it may draw.

    What the last play draws costs its mean penalty.
    """

    @cache
    def best(board: bytes, hand: tuple[int, ...], points: int) -> float:
        return max(values(positions[board, hand, points]).values())

    def values(game: Game) -> dict[int, float]:
        found = {}
        for action in game.legal_actions():
            card, cell = divmod(action, game.rules.num_cells)
            points, draws = game.value(card, cell)
            draws, total = min(draws, len(game.pile)), 0.0
            if game.ply == game.rules.num_plays - 1:
                kept = sum(costs[other] for other in game.hand(0) if other != card)
                mean = sum(costs[other] for other in game.pile) / max(len(game.pile), 1)
                found[action] = game.totals[0] + points - kept - draws * mean
                continue
            for drawn in combinations(game.pile, draws):
                after = game.copy()
                after.stack((*drawn, *(card for card in game.pile if card not in drawn)))
                after.step(action)
                key = after.board.tobytes(), after.hand(0), after.totals[0]
                positions[key] = after
                total += 0 if after.lost else best(*key)
            found[action] = total / comb(len(game.pile), draws)
        return found

    positions, costs = dict[Any, Game](), [penalty(name) for name in NAMES]
    return values(game)


def points_by_reference(task: Task) -> dict[int, float]:
    """The points of each action, from the reference scorer."""
    game, rules = task.game, task.game.rules
    places = [rules.grid.place(cell) for cell in range(rules.num_cells)]
    board = {place: NAMES[game.board[cell]] for cell, place in enumerate(places) if game.board[cell] >= 0}
    options: dict[str, Any] = {name: getattr(rules, name) for name in SCORED}

    def points(action: int) -> int:
        card, cell = divmod(action, rules.num_cells)
        return score_play(board, places[cell], NAMES[card], solitaire=True, **options).points

    return {action: points(action) for action in game.legal_actions()}


@pytest.mark.parametrize(
    ("level", "count"),
    [*((level, 100) for level in (1, 2, 3, 4)), (5, 5), pytest.param(5, 100, marks=pytest.mark.slow)],
)
def test_values_are_exact(level: int, count: int) -> None:
    for number in range(count):
        task = make_task(level, number)
        expected = by_expectimax(task.game) if LEVELS[level].exact else points_by_reference(task)
        assert task.values == pytest.approx(expected, abs=1e-8)
        best = max(expected.values())
        assert task.score(task.answer) == 1
        if level > 1:
            assert task.metadata["values"][task.answer] == pytest.approx(best)
        else:
            play = re.search(r"points does (\S+ \(\d, \d\)) score", task.question)
            assert play
            assert task.metadata["values"][play[1]] == int(task.answer)


@pytest.mark.parametrize("level", LEVELS)
def test_an_answer_is_worth_its_share_of_what_can_be_gained(level: int) -> None:
    task = make_task(level, 1)
    worst, best = min(task.values.values()), max(task.values.values())
    if LEVELS[level].points:
        points = int(task.answer)
        assert task.score(f"It pairs.\n{points + 1} points") == pytest.approx(1 - 1 / (best - worst))
        assert task.score(f"<action>{points - 10_00}</action>") == 0
    else:
        plays = task.metadata["values"]
        scores = {play: task.score(f"<think>7</think>{play.lower()}</s>") for play in plays}
        assert scores == pytest.approx({play: (plays[play] - worst) / (best - worst) for play in plays})
        assert {min(scores.values()), max(scores.values())} == {0, 1}
    for answer in ("", "I pass", "[" * 2_000, "QQ (1, 1)", "legal", "CS (9, 9)"):
        assert task.score(answer) == 0


@pytest.mark.parametrize("level", LEVELS)
def test_no_name_of_a_card_or_suit_is_left(level: int) -> None:
    usual = {*SUITS, SUITS, SUITS[:4], "A", "C", "Ace", "Crown", *(card.name for card in CARDS)}
    for number in NUMBERS:
        task, other = make_task(level, number), make_task(level, number, renamed=True)
        words = {*re.findall(r"\w+", other.question)}
        assert usual & {*re.findall(r"\w+", task.question)}
        assert not usual & words
        assert not re.search("quincunx|decktet|moon|sun|wave|lea[fv]|wyrm|knot", other.question, re.IGNORECASE)
        assert len(other.question) <= len(task.question) + 10
        assert [*other.metadata["values"].values()] == [*task.metadata["values"].values()]
        assert other.score(other.answer) == 1
        assert task.values == other.values


@pytest.mark.parametrize("level", [level for level in LEVELS if level > 1])
def test_answers_with_other_names_are_read_as_usual_ones(level: int) -> None:
    for number in NUMBERS:
        task, other = make_task(level, number), make_task(level, number, renamed=True)
        for (play, value), renamed in zip(task.metadata["values"].items(), other.metadata["values"], strict=True):
            assert task.metadata["values"][play] == value
            card, place = renamed.split(" ", 1)
            for answer in (
                f"my final answer: {renamed}.",
                f"**{renamed.lower()}**\n<|im_end|>",
                f"{card[0]} {card[:0:-1]} at {place}\\n",
                f"I will play the {card} at row {place[1]}, column {place[4]}",
                f'{{"card": "{card}", "row": {place[1]}, "column": {place[4]}}}',
            ):
                assert other.score(answer) == task.score(play), answer
            assert other.score(play) == 0, "the usual names are not read"


def test_names_are_decided_by_the_number() -> None:
    names = [Names(number).renamed("AM CS 4VL 6YK") for number in range(50)]
    assert len({*names}) == 50
    assert names == [Names(number).renamed("AM CS 4VL 6YK") for number in range(50)]
    assert Names(3).original(names[3]) == "AM CS 4VL 6YK"
    assert Names().renamed("QUINCUNX: AM Ace") == "QUINCUNX: AM Ace"


def test_tasks_are_the_same_in_every_process() -> None:
    program = (
        "import json; from quincunx_agents.tasks import LEVELS, make_task; "
        "tasks = [make_task(level, 7, renamed) for level in LEVELS for renamed in (False, True)]; "
        "print(json.dumps([[task.question, task.answer, task.metadata] for task in tasks]))"
    )
    found = [
        subprocess.run(
            [sys.executable, "-c", program], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        for seed in "12"
    ]
    assert found[0].stdout == found[1].stdout
    here = [make_task(level, 7, renamed) for level in LEVELS for renamed in (False, True)]
    assert json.loads(found[0].stdout) == [[task.question, task.answer, task.metadata] for task in here]


def test_tasks_differ_by_number() -> None:
    for level in LEVELS:
        assert len({make_task(level, number).question for number in NUMBERS}) > len(NUMBERS) - 3


def test_other_levels_and_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="level must be one of 1, 2, 3, 4, 5, got 6"):
        make_task(6, 0)
    with pytest.raises(ValueError, match="number must be an integer from 0 "):
        make_task(1, -1)
