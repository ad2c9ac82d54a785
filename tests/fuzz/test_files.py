"""Files of games and records are read as they were written, or refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st

from quincunx_env.arena import Run, evaluate_all
from quincunx_env.arena.games import Games
from quincunx_env.arena.verification import VerificationError, verify
from quincunx_env.notation.record import Record, RecordError, Seeded
from tests.arena.test_games import pack, unpack
from tests.fuzz.games import Played, by_position
from tests.fuzz.harness import Fuzz
from tests.fuzz.inputs import arrays, contents, junk, numbers, snapshots, texts

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
