"""Oracle scores of the solitaire, reached with perfect information.

The *oracle score* of a deal is the highest score that beam search with a known pile has reached. It is a lower bound
of the optimum with perfect information, and the line of play that proves it is kept beside it. The package has the
oracle scores of benchmark deals 0 to 999. No policy can be expected to reach them, since none may look at the pile;
`quincunx_env.arena.regret` measures its mean distance.

- `beam_search`: the best line that a beam of given width finds in a game whose pile is known.
- `oracle_scores`, `read`, `write`: oracle scores as an array, and their file.

``quincunx oracle`` computes oracle scores of more deals, or searches with wider beams.
"""

from quincunx_env.oracle.beam import LineOfPlay, beam_search
from quincunx_env.oracle.store import NUM_BENCHMARK_DEALS, OracleEntry, benchmark_game, oracle_scores, read, write

__all__ = [
    "NUM_BENCHMARK_DEALS",
    "LineOfPlay",
    "OracleEntry",
    "beam_search",
    "benchmark_game",
    "oracle_scores",
    "read",
    "write",
]
