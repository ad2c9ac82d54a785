"""Policies by name, pools of them, copies of games and observations of agents."""

from typing import Any

import numpy as np
from hypothesis import strategies as st

from quincunx_agents.greedy import greedy
from quincunx_env import BatchedGames, VsOpponentsVectorEnv, quincunx_v0, registered_policies, resolve
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import arrays, as_integer, junk, numbers, texts
from tests.variants import same

NAMES = [*registered_policies(), "quincunx_agents.greedy:greedy"]


def test_names_of_policies(fuzz: Fuzz) -> None:
    def check(data: st.DataObject) -> None:
        given = data.draw(texts(data.draw(st.sampled_from(NAMES))) | junk().filter(lambda each: not callable(each)))
        _, error = fuzz.attempt(lambda: resolve(given))
        assert (error is None) == (isinstance(given, str) and given in NAMES)

    fuzz(check, 30)


def test_pools(fuzz: Fuzz) -> None:
    env = VsOpponentsVectorEnv(2, pool=["greedy", "uniform"])
    env.reset(seed=0)

    def check(data: st.DataObject) -> None:
        before = list(env.policies), env._probabilities
        pool: Any = data.draw(
            st.sampled_from([["greedy", greedy], ["greedy"] * 3, ["greedy"], ["greedy", "nope"]]) | junk()
        )
        probabilities: Any = data.draw(st.sampled_from([None, [0.5, 0.5], [1, 0, 0], [0.9, 0.9]]) | arrays([0, 1]))
        _, error = fuzz.attempt(lambda: env.set_pool(pool, probabilities))
        if error:
            assert (env.policies, env._probabilities) == before
        else:
            env.reset()
        env.policies, env._probabilities = before

    fuzz(check, 30)


def test_copies(fuzz: Fuzz) -> None:
    games = BatchedGames(4)
    games.reset(seed=0)

    def check(data: st.DataObject) -> None:
        rows, k = data.draw(st.just([2]) | arrays([1, 3])), data.draw(st.just(2) | numbers([1, 2, 3]))
        if (as_integer(k) or 0) > 300:
            return
        copies, error = fuzz.attempt(lambda: games.fork(rows, k))
        if not error:
            given = np.atleast_1d(rows)
            numbers_given = np.flatnonzero(given) if given.dtype == np.bool_ else given
            plain = [int(row) for row in numbers_given for _ in range(as_integer(k) or 0)]
            same(copies.get_state(), games.batch.fork(plain).get_state())

    fuzz(check, 30)


def test_observing_agents(fuzz: Fuzz) -> None:
    env = quincunx_v0.raw_env()
    env.reset(seed=0)

    def check(data: st.DataObject) -> None:
        agent = data.draw(texts("player_0"))
        _, error = fuzz.attempt(lambda: env.observe(agent))
        assert (error is None) == (isinstance(agent, str) and agent in env.possible_agents)

    fuzz(check, 20)
