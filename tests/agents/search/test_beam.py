"""The beam search: wider beams find better lines, finished games keep their scores."""

import numpy as np

from quincunx_agents.search.beam import beam_search
from quincunx_env.quincunx.batch import Batch
from quincunx_env.quincunx.rules import Rules


def test_wider_beams_find_better_lines_and_finished_games_keep_their_scores() -> None:
    games = Batch(Rules(), 40, "validation")
    games.reset(seed=0)
    narrow, wide = beam_search(games, 2), beam_search(games, 16)
    assert wide.mean() > narrow.mean() + 5
    while not games.over.all():
        games.step(games.mask.argmax(axis=1))
    assert (beam_search(games, 2, lost_value=-7.0) == np.where(games.lost, -7.0, games.scores[:, 0])).all()
