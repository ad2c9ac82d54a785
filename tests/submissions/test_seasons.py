"""Sealed deals: seasons are verified, and forged ones are named."""

import dataclasses
import hashlib
import json
import shutil
import stat
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from quincunx_agents.greedy import greedy
from quincunx_env.arena import evaluate, evaluate_all
from quincunx_env.arena.games import Games
from quincunx_env.arena.matches import MatchConfig
from quincunx_env.cli import main
from quincunx_env.core.observation import Pieces
from quincunx_env.core.policy import NotFiniteError
from quincunx_env.policies import PolicyFile, files
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions.leaderboard import sections
from quincunx_env.submissions.seasons import (
    COMMITMENT,
    POLICIES,
    SECRET,
    Secret,
    add,
    check,
    new,
    policy_files,
    withdraw,
)
from quincunx_env.submissions.verification import VerificationError
from tests.engines.quincunx.test_deal import SECRET as FIXED
from tests.fuzz.test_files import policy_file, value_file

pytest.importorskip("scipy.stats")
pytest.importorskip("safetensors")

MINE = "policy.safetensors"


def play(folder: Path, secret: Path, policies: dict[str, Any], name: str = "games.npz") -> None:
    """Play a season's games and store them in its folder."""
    config = Secret.read(secret).config
    evaluate_all(policies, config.deals, domain="sealed", first=config.first, chunk=config.chunk, records=folder / name)


def finished(folder: Path, deals: int = 6) -> Path:
    """A season with a policy, its games and the published secret."""
    secret = new(folder, deals, chunk=4)
    add(folder, [policy_file(folder.parent)])
    play(folder, secret, {**policy_files((folder / POLICIES).iterdir())})
    secret.rename(folder / SECRET)
    return folder


@pytest.fixture(scope="module")
def two_seasons(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two finished seasons, which tests copy."""
    folder = tmp_path_factory.mktemp("seasons")
    for name in ("one", "two"):
        check(finished(folder / name))
    return folder


@pytest.fixture
def season(two_seasons: Path, tmp_path: Path) -> Path:
    """A season of its own."""
    return shutil.copytree(two_seasons / "one", tmp_path / "one")


def test_a_season(tmp_path: Path) -> None:
    """The secret is private, the commitment is its SHA-256, and the deals follow from it."""
    folder = tmp_path / "season"
    secret = new(folder, 6, chunk=4)
    assert secret == tmp_path / "season.secret.json"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    found, commitment = Secret.read(secret), json.loads((folder / COMMITMENT).read_text())
    terms = {"rules": dataclasses.asdict(Rules()), "deals": 6, "chunk": 4, "lost_value": 0.0}
    assert commitment == {"secret": found.digest, "terms": terms, "policies": {}, "withdrawn": {}}
    assert (found.config.deals, found.config.chunk) == (6, 4)
    assert {path.name for path in folder.iterdir()} == {COMMITMENT}
    path = policy_file(tmp_path)
    assert add(folder, [path]) == add(folder, [path]) == {MINE: PolicyFile(str(path)).digest}
    assert json.loads((folder / COMMITMENT).read_text()) == {**commitment, "policies": add(folder, [path])}
    assert (folder / POLICIES / MINE).read_bytes() == path.read_bytes()
    play(folder, secret, {**policy_files([folder / POLICIES / MINE])})
    with pytest.raises(ValueError, match=r"has no secret\.json: a season can be verified when its secret is published"):
        check(folder)
    secret.rename(folder / SECRET)
    assert hashlib.sha256((folder / SECRET).read_bytes()).hexdigest() == found.digest
    for path in (folder / SECRET, folder / COMMITMENT):  # as git may do
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    (file,) = check(folder)
    assert file.records.config == found.config
    assert file.label(MINE) == "sealed"
    text = sections([file], str)
    assert "## Solitaire, sealed deals\n" in text
    assert "| sealed |" in text
    assert "Not ranked" not in text


def test_secrets_are_large_and_differ(tmp_path: Path) -> None:
    firsts = [Secret.read(new(tmp_path / str(number))).config.first for number in range(40)]
    assert len(set(firsts)) == 40
    assert 2**61 < max(firsts) < 2**62


def test_generators_follow_from_the_secret() -> None:
    """In place of the seed, which no player chooses."""
    config = MatchConfig(Rules(), "sealed", FIXED, 4, 0, 2)
    assert config.generator(1, 3).random() == np.random.default_rng([FIXED, 1, 3]).random()
    assert evaluate("uniform", 4, domain="sealed", first=FIXED).scores.tolist()
    with pytest.raises(ValueError, match="sealed deals give the seed of the generators, got seed=1: leave it out"):
        evaluate("uniform", 4, domain="sealed", first=FIXED, seed=1)


# --- Forged seasons --------------------------------------------------------------------------------------------------


def changed_secret(season: Path, other: Path) -> None:
    values = json.loads((season / SECRET).read_text())
    (season / SECRET).write_text(json.dumps(values | {"first": values["first"] + 1}))


def games_of_another_secret(season: Path, other: Path) -> None:
    shutil.copy(other / "games.npz", season / "more.npz")


def fewer_games(season: Path, other: Path) -> None:
    first = Secret.read(season / SECRET).config.first
    evaluate_all({MINE: str(season / POLICIES / MINE)}, 5, domain="sealed", first=first, records=season / "games.npz")


def changed_policy(season: Path, other: Path) -> None:
    (season / POLICIES / MINE).write_bytes(value_file(season.parent).read_bytes())


def policy_that_was_not_handed_in(season: Path, other: Path) -> None:
    play(season, season / SECRET, {"late.onnx": "greedy"})


def missing_policy(season: Path, other: Path) -> None:
    (season / POLICIES / MINE).unlink()


def missing_games(season: Path, other: Path) -> None:
    (season / "games.npz").unlink()


def damaged_secret(season: Path, other: Path) -> None:
    (season / SECRET).write_text("[" * 10_000)


def damaged_commitment(season: Path, other: Path) -> None:
    (season / COMMITMENT).write_text(json.dumps({"secret": "0", "terms": {}, "policies": {}, "withdrawn": {}}))


def path_in_the_commitment(season: Path, other: Path) -> None:
    values = json.loads((season / COMMITMENT).read_text())
    values["policies"]["../mine.onnx"] = values["secret"]
    (season / COMMITMENT).write_text(json.dumps(values))


def one_policy_twice(season: Path, other: Path) -> None:
    shutil.copy(season / "games.npz", season / "more.npz")


def another_chunk(season: Path, other: Path) -> None:
    config, policies = Secret.read(season / SECRET).config, policy_files([season / POLICIES / MINE])
    evaluate_all(policies, config.deals, domain="sealed", first=config.first, records=season / "games.npz")


def another_lost_value(season: Path, other: Path) -> None:
    change_commitment(season, terms={"rules": {}, "deals": 6, "chunk": 4, "lost_value": 50})


def policy_without_games(season: Path, other: Path) -> None:
    shutil.copy(season / POLICIES / MINE, season / POLICIES / "forgotten.safetensors")
    policies = json.loads((season / COMMITMENT).read_text())["policies"]
    change_commitment(season, policies=policies | {"forgotten.safetensors": policies[MINE]})


def withdrawn_policy(season: Path, other: Path) -> None:
    change_commitment(season, withdrawn={MINE: "a fault"})


def nul_in_the_commitment(season: Path, other: Path) -> None:
    change_commitment(season, policies={"a\0b.onnx": "0" * 64})


def change_commitment(season: Path, **values: Any) -> None:
    (season / COMMITMENT).write_text(json.dumps(json.loads((season / COMMITMENT).read_text()) | values))


FORGERIES: dict[Callable[[Path, Path], None], tuple[type[Exception], str]] = {
    changed_secret: (VerificationError, r"secret\.json: the secret does not fit the commitment, whose SHA-256 differs"),
    games_of_another_secret: (VerificationError, r"more\.npz: the games are not on the deals of the secret in"),
    fewer_games: (VerificationError, r"games\.npz: the games are not on the deals of the secret in"),
    changed_policy: (VerificationError, rf"{MINE}: the policy was changed after its hash was published"),
    policy_that_was_not_handed_in: (VerificationError, r"the policy 'late\.onnx' was not handed in before the games"),
    one_policy_twice: (VerificationError, rf"more\.npz: the season has games of '{MINE}' twice"),
    another_chunk: (VerificationError, r"games\.npz: rules, chunk or value of a lost round are not the season's"),
    another_lost_value: (VerificationError, r"the commitment has other terms than the secret"),
    policy_without_games: (VerificationError, r"1 of 2 policies handed in have no games: forgotten\.safetensors$"),
    withdrawn_policy: (VerificationError, rf"the policy '{MINE}' was withdrawn: play the games without it"),
    nul_in_the_commitment: (ValueError, r"commitment\.json is damaged: 'a\\x00b\.onnx' is not a policy file's name"),
    missing_policy: (ValueError, "there is no policy file"),
    missing_games: (ValueError, r"has no files of games \(\*\.npz\)"),
    damaged_secret: (ValueError, r"secret\.json is not a secret of a season, as 'quincunx seal new' writes it"),
    damaged_commitment: (ValueError, r"commitment\.json is damaged: it holds SHA-256 in hexadecimal"),
    path_in_the_commitment: (ValueError, r"commitment\.json is damaged: '\.\./mine\.onnx' is not a policy file's name"),
}
"""Functions that forge or leave out a part, each with the line that names it."""


@pytest.mark.parametrize("forge", FORGERIES, ids=lambda forge: forge.__name__)
def test_forged_seasons_are_named(forge: Callable[[Path, Path], None], season: Path, two_seasons: Path) -> None:
    forge(season, two_seasons / "two")
    kind, message = FORGERIES[forge]
    with pytest.raises(kind, match=message) as caught:
        check(season)
    assert "\n" not in str(caught.value)


def test_games_of_another_policy_stay_replayed(season: Path) -> None:
    play(season, season / SECRET, {MINE: "greedy"})
    (file,) = check(season)
    assert file.label(MINE) == "replayed, 2 of 2 chunks asked again, 2 different"
    (line,) = file.differences
    assert "the file has" in line


def test_what_cannot_be_handed_in_is_refused(season: Path, tmp_path: Path) -> None:
    fresh, path = tmp_path / "fresh", policy_file(tmp_path)
    with pytest.raises(ValueError, match="is published, its deals are known: hand in for another season"):
        add(season, [path])
    new(fresh)
    add(fresh, [path])
    (tmp_path / "model.zip").write_bytes(b"")
    with pytest.raises(ValueError, match=r"policies on sealed deals are files \*\.safetensors and \*\.onnx, got 'gree"):
        add(fresh, ["greedy"])
    with pytest.raises(ValueError, match=r"policies on sealed deals are files .*model\.zip'$"):
        add(fresh, [tmp_path / "model.zip"])
    with pytest.raises(ValueError, match=f"two policies are called '{MINE}': rename one of the files"):
        add(fresh, [path, path])
    path.write_bytes(value_file(tmp_path).read_bytes())
    with pytest.raises(ValueError, match=f"another policy was handed in as '{MINE}': give the file another name"):
        add(fresh, [path])
    for folder in (season, fresh):
        with pytest.raises(ValueError, match="exists already: name another folder"):
            new(folder)
    with pytest.raises(ValueError, match="deals must be an integer from 2"):
        new(tmp_path / "small", 1)


# --- Policies that cannot play, withdrawals, copies ------------------------------------------------------------------


class Fails:
    """Greedy until a number of calls, which the file holds. Then it fails as the file says."""

    def __init__(self, path: Path, trust: bool) -> None:
        kind, number = path.read_text().split()
        self.kind, self.left = kind, int(number)

    def __call__(self, observation: Pieces, mask: npt.NDArray[np.bool_], rng: np.random.Generator) -> Any:
        """Choose actions, or fail."""
        self.left -= 1
        if self.left >= 0:
            return greedy(observation, mask, rng)
        if self.kind == "nan":
            raise NotFiniteError("NaN")
        if self.kind == "memory":
            raise MemoryError
        return np.zeros(0)[7] if self.kind == "index" else np.full(len(mask), 10**6)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> None:
    """ONNX files are read as `Fails`."""
    entry = EntryPoint(".onnx", "tests.submissions.test_seasons:Fails", "quincunx_env.policies.files")
    known = files.readers() | {".onnx": entry}
    monkeypatch.setattr(files, "readers", lambda: known)
    monkeypatch.setattr(files, "APART", ())


@pytest.mark.parametrize(
    ("kind", "reason"),
    [("nan", "NaN"), ("index", "IndexError: index 7"), ("memory", "MemoryError$"), ("illegal", ".*000")],
)
@pytest.mark.usefixtures("failing")
def test_a_policy_that_cannot_play_is_not_handed_in(kind: str, reason: str, tmp_path: Path) -> None:
    path, season = tmp_path / "bad.onnx", tmp_path / "season"
    path.write_text(f"{kind} 5")
    new(season)
    before = (season / COMMITMENT).read_bytes()
    with pytest.raises(
        ValueError, match=f"^the policy 'bad.onnx' cannot play: (.*bad.onnx cannot be used: )?{reason}"
    ) as caught:
        add(season, [policy_file(tmp_path), path])
    assert "\n" not in str(caught.value)
    assert (season / COMMITMENT).read_bytes() == before
    assert not (season / POLICIES).exists()


@pytest.mark.usefixtures("failing")
def test_a_policy_that_cannot_play_loses_its_own_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """It fails in the sealed games alone. A copy of a policy is shown as such, and a withdrawal with its reason."""
    monkeypatch.chdir(tmp_path)
    names = [MINE, "copy.safetensors", "gone.safetensors"]
    for name in names[1:]:
        shutil.copy(policy_file(tmp_path), name)
    Path("late.onnx").write_text("index 18")
    main(["seal", "new", "season", "--deals", "6", "--chunk", "4", "--lost-value", "30"])
    main(["seal", "add", "season", *names, "late.onnx"])
    main(["seal", "withdraw", "season", "gone.safetensors", "--why", "a fault"])
    policies = [str(each) for each in sorted(Path("season/policies").iterdir())]
    main(["evaluate", "--sealed", "season.secret.json", *policies, "--workers", "1", "--records", "season/games.npz"])
    assert "late.onnx cannot be used: IndexError: index 7 is out of bounds" in capsys.readouterr().out
    with pytest.raises(ValueError, match=r"another policy|was withdrawn: give the file another name"):
        add("season", ["gone.safetensors"])
    Path("season.secret.json").rename("season/secret.json")
    main(["verify", "season"])
    rows = capsys.readouterr().out.splitlines()
    (late,), (gone,) = ([row for row in rows if row.startswith(f"| {name}")] for name in ("late.onnx", "gone.safe"))
    assert "| cannot play: season/policies/late.onnx cannot be used: IndexError: index 7" in late
    assert "| withdrawn: a fault |" in gone
    assert len([row for row in rows if "sealed, same games as " in row]) == 2
    with pytest.raises(ValueError, match="is published"):
        withdraw("season", MINE, "too late")


def test_wrong_withdrawals(tmp_path: Path) -> None:
    new(tmp_path / "season")
    add(tmp_path / "season", [policy_file(tmp_path)])
    with pytest.raises(ValueError, match=f"no policy was handed in as 'other', but {MINE}"):
        withdraw(tmp_path / "season", "other", "a fault")
    for why in ("", "two\nlines"):
        with pytest.raises(ValueError, match="say in one line why"):
            withdraw(tmp_path / "season", MINE, why)


def test_games_of_a_season_are_records(season: Path) -> None:
    record = Games.read(season / "games.npz").record(2)
    assert record.game().over
    assert "domain sealed" in str(record)
