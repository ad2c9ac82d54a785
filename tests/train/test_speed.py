"""A step of each interface does not cost more unnoticed: neither calls nor time."""

from collections.abc import Iterator

import pytest

pytest.importorskip("sb3_contrib")
pytest.importorskip("tyro")

from train.speed import Cost, Interface, count_calls, measure_costs, measure_time, read_costs, reference_loop

STORED = Cost(calls=44.0, time=0.01)


@pytest.mark.parametrize(
    ("calls", "time", "one_game", "excess"),
    [
        (44, 0.01, True, ""),
        (46, 0.02, True, ""),
        (46.1, 0.01, True, "46.1 calls instead of 44.0"),
        (46.1, 0.01, False, ""),
        (48.5, 0.01, False, "48.5 calls instead of 44.0"),
        (44, 0.021, False, "2.1 times the stored time"),
        (90, 0.25, True, "90 calls instead of 44.0 and 25.0 times the stored time"),
        (1, 0.001, True, ""),
    ],
)
def test_what_exceeds_the_limits_is_described(calls: float, time: float, one_game: bool, excess: str) -> None:
    """A tenth of 44 calls are 4; a step of one game may gain only 2."""
    assert Cost(calls, time).excess(STORED, one_game) == excess


def test_a_step_of_many_games_may_gain_ten_calls() -> None:
    """A tenth of 1,000 calls are 100."""
    stored = Cost(1_000, 1.0)
    assert not Cost(1_010, 1.0).excess(stored, one_game=False)
    assert Cost(1_011, 1.0).excess(stored, one_game=False)
    assert Cost(1_003, 1.0).excess(stored, one_game=True)


def fake(durations: list[float], steps: int = 5) -> tuple[Interface, Iterator[float]]:
    """Return an interface whose runs take these seconds, and a clock. A pass of the reference loop takes one second."""
    passes = reference_loop()[1]

    def clock() -> Iterator[float]:
        now = 0.0
        for duration in durations:
            for taken in (passes, duration):
                yield now
                now += taken
                yield now

    return Interface("fake", lambda: None, steps, steps), clock()


def test_the_fastest_sample_counts() -> None:
    """Five steps in ten seconds are two passes a step."""
    interface, clock = fake([70, 10, 90])
    assert measure_time(interface, 2.0, clock.__next__) == 2.0


def test_a_time_above_the_limit_is_measured_again() -> None:
    """Once, and the fastest of all samples counts."""
    interface, clock = fake([70, 80, 90, 60, 15, 60])
    assert measure_time(interface, 2.0, clock.__next__) == 3.0
    assert next(clock, None) is None


def test_twice_the_work_is_twice_the_time() -> None:
    """In real time, and with the calls counted."""
    loop, passes = reference_loop()

    def twice() -> None:
        loop()
        loop()

    once, double = Interface("once", loop, passes, passes), Interface("twice", twice, passes, passes)
    assert 0.7 < measure_time(once) < 1.4 < measure_time(double) < 2.8
    assert 1.9 < count_calls(double) / count_calls(once) < 2.1


def test_no_step_costs_more_than_stored() -> None:
    """The calls are the same on every machine with these versions, the times similar."""
    stored = read_costs()
    if not stored:
        pytest.skip("costs are stored for other versions of libraries")
    now = measure_costs(stored)
    assert now.keys() == stored.keys(), "python -m train.speed --store-costs"
    grown = {name: cost.excess(stored[name], one_game) for name, (one_game, cost) in now.items()}
    found = "; ".join(f"{name}: {excess}" for name, excess in grown.items() if excess)
    assert not found, f"{found}; if that is worth it: python -m train.speed --store-costs"
    loose = [name for name, (one_game, cost) in now.items() if Cost(stored[name].calls, 0).excess(cost, one_game)]
    assert not loose, f"fewer calls than stored: {', '.join(loose)}; python -m train.speed --store-costs"
