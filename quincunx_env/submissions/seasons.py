"""Sealed deals: seasons on deals unknown when policies are handed in.

A policy may have learned numbered deals by heart, since they are public. A season is a folder that rules this out:

| file | content | published |
|---|---|---|
| ``commitment.json`` | ``{"secret": SHA-256 of secret.json, "terms", "policies", "withdrawn"}``, see below | first |
| ``policies/`` | policies as files that execute nothing, ``*.safetensors`` and ``*.onnx`` | before the games |
| ``secret.json`` | ``{"first": number of the first deal, "terms": as above, "salt": random text}`` | last |
| ``*.npz`` | games, see `quincunx_env.arena.games`; their headers show the secret | with the secret |

``terms`` are ``{"rules", "deals", "chunk", "lost_value"}``. ``policies`` has the SHA-256 of each file by its name, and
``withdrawn`` the reason of each withdrawal. `new` draws the secret, 62 random bits. `add` hands in a policy, and
`withdraw` withdraws it. The secret is the number of the first deal of the
domain ``sealed``, and the seed of the policies' generators follows from it. `check` verifies a finished season. The
organiser, who has the secret, knows the deals.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quincunx_env.arena.games import Games, LineupGames
from quincunx_env.arena.matches import MatchConfig, play_matches
from quincunx_env.arena.runner import Progress
from quincunx_env.core.integers import check_integer
from quincunx_env.policies import PolicyFile, check_name, is_name
from quincunx_env.quincunx.rules import Rules
from quincunx_env.submissions.reruns import POSITIONS
from quincunx_env.submissions.verification import MOST_POINTS, VerificationError, VerifiedFile
from quincunx_env.utils.errors import printable
from quincunx_env.utils.files import write_atomically

COMMITMENT, SECRET, POLICIES = "commitment.json", "secret.json", "policies"
"""Names in the folder of a season."""

SUFFIXES = (".safetensors", ".onnx")
"""Suffixes of policies that can be handed in: reading them executes nothing."""

SECRET_BITS, SALT_BITS = 62, 256
"""Random bits of the number of the first deal, and of a text that keeps the number from being found by trying all."""

MAX_DEALS = 1_000_000
"""Upper limit of the deals of a season."""

TRIED = 20
"""Validation deals that a policy plays to their end before it is handed in. Not tuned."""


@dataclass(frozen=True)
class Secret:
    """The secret of a season."""

    config: MatchConfig
    """Rules, sealed deals and chunk of the games."""
    lost_value: float
    """Value of a lost round."""
    digest: str
    """SHA-256 of the file as `new` wrote it, in hexadecimal, whatever its line endings have become."""

    @classmethod
    def read(cls, path: Path | str) -> "Secret":
        """Read a secret that `new` drew.

        Raises:
            ValueError: if the file holds something else.
            OSError: if it cannot be read.
        """
        values = _read(Path(path), "secret", ("first", "terms", "salt"))
        first = check_integer(f"the first deal in {path}", values["first"], 0, 2**SECRET_BITS - 1)
        return cls(*_read_terms(Path(path), values["terms"], first), hashlib.sha256(_content(values)).hexdigest())


def new(
    folder: Path | str,
    deals: int = MatchConfig.deals,
    *,
    rules: Rules | None = None,
    lost_value: float = 0.0,
    chunk: int = MatchConfig.chunk,
) -> Path:
    """Open a season: draw its secret, and write the commitment to it.

    Args:
        folder: of the season; the secret is written beside it, readable by its owner alone.
        deals: number of deals.
        rules: rules of the solitaire; the default ones if None.
        lost_value: value of a lost round.
        chunk: number of deals played side by side.

    Returns:
        The path of the secret. Move it into the folder as ``secret.json`` once all games have been played.

    Raises:
        ValueError: for wrong terms, or if there is such a season.
        OSError: if nothing can be written.
    """
    folder = Path(folder)
    terms = {"rules": asdict(rules or Rules()), "deals": deals, "chunk": chunk, "lost_value": lost_value}
    _read_terms(folder, terms)
    path = folder.resolve().with_name(f"{folder.resolve().name}.{SECRET}")
    for existing in (path, folder / COMMITMENT):
        if existing.exists():
            raise ValueError(f"{existing} exists already: name another folder")
    values = {"first": secrets.randbits(SECRET_BITS), "terms": terms, "salt": f"{secrets.randbits(SALT_BITS):064x}"}
    _write(path, values, mode=0o600)
    _write(folder / COMMITMENT, {"secret": Secret.read(path).digest, "terms": terms, "policies": {}, "withdrawn": {}})
    return path


def add(folder: Path | str, files: Iterable[Path | str]) -> dict[str, str]:
    """Add policies to a season.

    Each plays `TRIED` whole deals first. Then their files are copied to the season, and their hashes are added to the
    commitment.

    Returns:
        SHA-256 of each file by its name.

    Raises:
        ValueError: for a policy that cannot play, a file of another kind, a name that is taken by another policy, or a
            season that has ended.
        OSError: if a file cannot be read or written.
    """
    folder = Path(folder)
    commitment, added = _read_open(folder), {}
    config, _ = _read_terms(folder / COMMITMENT, commitment["terms"])
    tried = replace(config, domain="validation", deals=TRIED, chunk=TRIED)
    for name, file in policy_files(files).items():
        if name in commitment["withdrawn"]:
            raise ValueError(f"the policy {name!r} was withdrawn: give the file another name")
        if why := fault(file, tried):
            raise ValueError(f"the policy {name!r} cannot play: {why}")
        published = commitment["policies"].setdefault(name, file.digest)
        if published != file.digest:
            raise ValueError(f"another policy was handed in as {name!r}: give the file another name")
        added[name] = file.digest
    for name, file in policy_files(files).items():
        write_atomically(folder / POLICIES / name, partial(_write_bytes, content=file.location.read_bytes()))
    _write(folder / COMMITMENT, commitment)
    return added


def withdraw(folder: Path | str, name: str, why: str) -> None:
    """Remove a policy from a season, and delete its file.

    Its hash stays in the commitment, together with the reason.

    Raises:
        ValueError: if no policy has this name, no reason is given, or the season has ended.
        OSError: if the folder cannot be written.
    """
    folder = Path(folder)
    commitment = _read_open(folder)
    if name not in commitment["policies"]:
        raise ValueError(f"no policy was handed in as {name!r}, but {', '.join(commitment['policies']) or 'none'}")
    if not is_name(why):
        raise ValueError(f"say in one line why {name!r} is withdrawn, got {why!r:.100}")
    commitment["withdrawn"][name] = why
    _write(folder / COMMITMENT, commitment)
    (folder / POLICIES / name).unlink(missing_ok=True)


def fault(policy: PolicyFile, config: MatchConfig) -> str:
    """Say in one line why a policy cannot play. It is empty if it can."""
    try:
        for chunk in config.chunks:
            play_matches([policy], np.zeros((1, 1), np.int64), config, chunk)
    except Exception as error:  # libraries raise anything
        return one_line(error)
    return ""


def one_line(error: Exception) -> str:
    """Return an error as a line of at most 300 characters."""
    return printable(" ".join(str(error).split()) or type(error).__name__)[:300]


def policy_files(files: Iterable[Path | str]) -> dict[str, PolicyFile]:
    """Return policies in files that execute nothing, by the file's name.

    Raises:
        ValueError: for a file of another kind, one that is missing, or two of one name.
    """
    found: dict[str, PolicyFile] = {}
    for path in map(Path, files):
        if path.suffix not in SUFFIXES:
            raise ValueError(f"policies on sealed deals are files *{' and *'.join(SUFFIXES)}, got {str(path)!r}")
        if check_name(path.name) in found:
            raise ValueError(f"two policies are called {path.name!r}: rename one of the files")
        found[path.name] = PolicyFile(str(path))
    return found


def check(
    folder: Path | str,
    positions: int = POSITIONS,
    seed: int | None = None,
    progress: Progress = iter,
) -> list[VerifiedFile]:
    """Verify a season: secret, deals, games and policies.

    The policies are asked again. One without games has to fail in them again.

    Args:
        folder: of the season.
        positions: as in `quincunx_env.submissions.reruns.rerun`.
        seed: as in `quincunx_env.submissions.reruns.rerun`.
        progress: as in `quincunx_env.submissions.reruns.rerun`.

    Raises:
        VerificationError: if the secret does not fit the commitment, games are on other deals or terms or false, or a
            policy is not the published one, has games twice, or has none although it can play.
        ValueError: if the season is incomplete or a file damaged.
        OSError: if a file cannot be read.
    """
    folder = Path(folder)
    commitment = _read_commitment(folder)
    if not (folder / SECRET).exists():
        raise ValueError(f"{folder} has no {SECRET}: a season can be verified when its secret is published")
    secret, verified, games = Secret.read(folder / SECRET), [], dict[str, LineupGames]()
    if secret.digest != commitment["secret"]:
        raise VerificationError(f"{folder / SECRET}: the secret does not fit the commitment, whose SHA-256 differs")
    if _read_terms(folder / COMMITMENT, commitment["terms"], secret.config.first) != (secret.config, secret.lost_value):
        raise VerificationError(f"{folder / COMMITMENT}: the commitment has other terms than the secret")
    for path in sorted(folder.glob("*.npz")):
        records, policies = Games.read(path), {}
        config = records.config
        if any(getattr(config, name) != getattr(secret.config, name) for name in ("domain", "first", "deals")):
            raise VerificationError(f"{path}: the games are not on the deals of the secret in {folder / SECRET}")
        if config != secret.config or any(
            each.claims.get("lost_value") != secret.lost_value for each in records.lineups
        ):
            raise VerificationError(f"{path}: rules, chunk or value of a lost round are not the season's")
        for lineup in records.lineups:
            (name,) = lineup.policies
            if name in games:
                raise VerificationError(f"{path}: the season has games of {name!r} twice")
            policies[name], games[name] = _published(folder, commitment, name, f"{path}: "), lineup
        verified.append(VerifiedFile.check(path, policies, positions, seed, progress, sealed=True))
    if not verified:
        raise ValueError(f"{folder} has no files of games (*.npz)")
    unplayed = {name: f"withdrawn: {why}" for name, why in commitment["withdrawn"].items()}
    missing = [name for name in commitment["policies"] if name not in games and name not in unplayed]
    for name in missing:
        if why := fault(_published(folder, commitment, name), secret.config):
            unplayed[name] = f"cannot play: {why}"
    if forgotten := [name for name in missing if name not in unplayed]:
        total = len(commitment["policies"])
        raise VerificationError(
            f"{folder}: {len(forgotten)} of {total} policies handed in have no games: {', '.join(forgotten):.300}"
        )
    remarks = {
        name: f"same games as {other}"
        for name, own in games.items()
        for other, others in games.items()
        if name != other and np.array_equal(own.actions, others.actions)
    }
    first, *rest = (replace(each, remarks=remarks) for each in verified)
    return [replace(first, unplayed=unplayed), *rest]


def _published(folder: Path, commitment: dict[str, Any], name: str, where: str = "") -> PolicyFile:
    """Return a policy that was handed in.

    Raises:
        VerificationError: if it was not handed in, withdrawn, or changed since.
    """
    if name not in commitment["policies"]:
        raise VerificationError(f"{where}the policy {name!r} was not handed in before the games")
    if name in commitment["withdrawn"]:
        raise VerificationError(f"{where}the policy {name!r} was withdrawn: play the games without it")
    policy = PolicyFile(str(folder / POLICIES / name))
    if policy.digest != commitment["policies"][name]:
        raise VerificationError(f"{policy.path}: the policy was changed after its hash was published")
    return policy


# --- Files -----------------------------------------------------------------------------------------------------------


def _read(path: Path, what: str, names: tuple[str, ...]) -> dict[str, Any]:
    """Read a JSON object with these entries, in this order."""
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict) or values.keys() != {*names}:
        raise ValueError(f"{path} is not a {what} of a season, as 'quincunx seal new' writes it")
    return {name: values[name] for name in names}


def _read_commitment(folder: Path) -> dict[str, Any]:
    values = _read(folder / COMMITMENT, "commitment", ("secret", "terms", "policies", "withdrawn"))
    policies, withdrawn = values["policies"], values["withdrawn"]
    digests = [values["secret"], *policies.values()] if isinstance(policies, dict) else [None]
    if not all(isinstance(each, str) and re.fullmatch("[0-9a-f]{64}", each) for each in digests):
        raise ValueError(f"{folder / COMMITMENT} is damaged: it holds SHA-256 in hexadecimal")
    if wrong := [
        name for name in policies if not is_name(name) or Path(name).name != name or Path(name).suffix not in SUFFIXES
    ]:
        raise ValueError(f"{folder / COMMITMENT} is damaged: {wrong[0]!r:.220} is not a policy file's name")
    if not isinstance(withdrawn, dict) or withdrawn.keys() - policies or not all(map(is_name, withdrawn.values())):
        raise ValueError(f"{folder / COMMITMENT} is damaged: it holds the reasons of withdrawals by name")
    return values


def _read_open(folder: Path) -> dict[str, Any]:
    """Read the commitment of a season whose secret is unpublished."""
    if (folder / SECRET).exists():
        raise ValueError(f"the secret of {folder} is published, its deals are known: hand in for another season")
    return _read_commitment(folder)


def _read_terms(path: Path, terms: Any, first: int = 0) -> tuple[MatchConfig, float]:
    """Read the config of the games and the value of a loss."""
    try:
        rules, lost = Rules(**terms["rules"]), terms["lost_value"]
        check_integer("deals", terms["deals"], 2, MAX_DEALS)
        config = MatchConfig(rules, "sealed", first, terms["deals"], 0, terms["chunk"])
    except (KeyError, TypeError) as error:
        raise ValueError(f"{path} is damaged: the terms are rules, deals, chunk and lost_value") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error!s:.300}") from error
    if type(lost) not in (int, float) or not abs(lost) <= MOST_POINTS:
        raise ValueError(f"{path}: the value of a lost round must be a number, got {lost!r:.100}")
    if rules.num_players > 1:
        raise ValueError(f"{path}: a season has rules of the solitaire, got {rules.num_players} players")
    return config, float(lost)


def _write(path: Path, values: dict[str, Any], mode: int = 0o666) -> None:
    write_atomically(path, partial(_write_bytes, content=_content(values), mode=mode))


def _content(values: dict[str, Any]) -> bytes:
    return f"{json.dumps(values, indent=1)}\n".encode()


def _write_bytes(path: Path, content: bytes, mode: int = 0o666) -> None:
    path.touch(mode)  # as open() does, less what the umask takes
    path.write_bytes(content)
