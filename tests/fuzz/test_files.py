"""Files: weights and records are read as they were written, or refused."""

import json
import shutil
import struct
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import strategies as st

import quincunx_agents
from quincunx_agents.networks import value
from quincunx_agents.networks.weights_io import WeightsError
from quincunx_env.arena import Run, evaluate_all
from quincunx_env.arena.games import Games
from quincunx_env.arena.verification import VerificationError, verify
from quincunx_env.notation.record import Record, RecordError, Seeded
from quincunx_env.quincunx import Batch, Rules
from quincunx_env.registry import make_observer
from tests.arena.test_games import pack, unpack
from tests.fuzz.games import Played, by_position
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import arrays, contents, junk, numbers, snapshots, texts
from tests.variants import same

# --- Weights ---------------------------------------------------------------------------------------------------------


def play(agent: Any) -> None:
    """A legal action in every game of a batch."""
    batch = Batch(Rules(), 3)
    batch.reset(seed=1)
    observation = make_observer(Rules(), preview=True).observe_batch(batch)
    batch.step(agent.for_rules(Rules())(observation, batch.mask, np.random.default_rng(0)))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A copy of the shipped network of the solitaire."""
    return Path(shutil.copy(value.WEIGHTS / "solitaire.safetensors", tmp_path))


def test_damaged_weights(fuzz: Fuzz, path: Path) -> None:
    whole, valid = path.read_bytes(), cast(Any, quincunx_agents.load(path)).weights

    def check(data: st.DataObject) -> None:
        path.write_bytes(data.draw(contents(whole)))
        agent, error = fuzz.attempt(lambda: quincunx_agents.load(path), WeightsError)
        assert error is None or type(error) is WeightsError
        if not error:
            same(agent.weights.members, valid.members)
            play(agent)

    fuzz(check, 20)


def test_strange_metadata(fuzz: Fuzz, path: Path) -> None:
    whole = path.read_bytes()
    size = struct.unpack("<Q", whole[:8])[0]
    header = json.loads(whole[8 : 8 + size])
    metadata = json.loads(header["__metadata__"]["metadata"])

    def check(data: st.DataObject) -> None:
        strange = data.draw(snapshots(metadata))
        try:
            text = json.dumps(strange)
        except (TypeError, ValueError):
            text = repr(strange)
        text = data.draw(st.just(text) | texts(text).filter(lambda each: isinstance(each, str)))
        new = json.dumps(header | {"__metadata__": {"metadata": text}}).encode()
        path.write_bytes(struct.pack("<Q", len(new)) + new + whole[8 + size :])
        agent, error = fuzz.attempt(lambda: quincunx_agents.load(path), WeightsError)
        assert error is None or type(error) is WeightsError
        if not error:
            play(agent)

    fuzz(check, 20)


# --- Records ---------------------------------------------------------------------------------------------------------


@by_position
def test_record_files(played: Played, fuzz: Fuzz, tmp_path: Path) -> None:
    record, path = Record(played.game.rules, Seeded(played.seed), played.actions), tmp_path / "record.txt"
    record.write(path)
    whole = path.read_bytes()

    def check(data: st.DataObject) -> None:
        path.write_bytes(data.draw(contents(whole)))
        read, error = fuzz.attempt(lambda: Record.read(path))
        assert read == record or type(error) is RecordError

    fuzz(check, 6)


@by_position
def test_new_records(played: Played, fuzz: Fuzz, tmp_path: Path) -> None:
    rules, path = played.game.rules, tmp_path / "record.txt"
    valid = tuple(f"player {seat}" for seat in range(rules.num_players))

    def check(data: st.DataObject) -> None:
        seed, game = data.draw(numbers([3])), data.draw(numbers([0, 5]) | st.just(0))
        dealt = data.draw(st.sampled_from([Seeded(seed, game), Seeded(seed), Seeded(3, 0), played.game.deals]) | junk())
        seats = data.draw(st.just(valid) | st.tuples(*(texts(name) for name in valid)) | junk())
        actions = data.draw(st.just(played.actions) | arrays(played.actions))
        record, error = fuzz.attempt(lambda: Record(rules, dealt, actions, seats))
        assert error is None or type(error) is RecordError
        if not error:
            record.write(path)
            assert Record.read(path) == record

    fuzz(check, 12)


# --- Games of evaluations --------------------------------------------------------------------------------------------


def test_damaged_games(fuzz: Fuzz, tmp_path: Path) -> None:
    path = tmp_path / "two.npz"
    evaluate_all(["greedy", "uniform"], 3, run=Run(records=path))
    whole = path.read_bytes()

    def check(data: st.DataObject) -> None:
        path.write_bytes(data.draw(contents(whole)))
        read, error = fuzz.attempt(lambda: Games.read(path))
        assert (type(error) is RecordError) if error else (read.to_bytes() == whole)

    fuzz(check, 30)


def test_forged_games(fuzz: Fuzz, tmp_path: Path) -> None:
    """Changed headers and arrays whose checksum is right are refused, or the games have the figures of the file."""
    pytest.importorskip("scipy")
    path = tmp_path / "two.npz"
    evaluate_all(["greedy", "uniform"], 3, run=Run(records=path))
    header, arrays = unpack(path.read_bytes())

    def check(data: st.DataObject) -> None:
        try:
            text = json.dumps(data.draw(st.just(header) | snapshots(header)))
        except (TypeError, ValueError):
            text = repr(header)
        name = data.draw(st.sampled_from([*arrays]))
        forged = np.frombuffer(data.draw(contents(arrays[name].tobytes())), np.uint8)
        whole = forged[: len(forged) // arrays[name].itemsize * arrays[name].itemsize].view(arrays[name].dtype)
        shaped = whole.reshape(-1, *arrays[name].shape[1:])
        changed = arrays | data.draw(st.just({}) | st.just({name: shaped}))
        records, error = fuzz.attempt(lambda: Games.from_bytes(pack(text, changed)))
        assert error is None or type(error) is RecordError
        if not error:
            results, error = fuzz.attempt(lambda: verify(records), VerificationError)
            assert error is None or type(error) is VerificationError
            assert error or [each.to_json() for each in results] == [dict(each.claims) for each in records.lineups]

    fuzz(check, 40)
