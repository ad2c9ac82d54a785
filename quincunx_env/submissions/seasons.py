"""Sealed deals: seasons on deals unknown when policies are handed in.

A policy may have learned numbered deals by heart, since they are public. A season is a folder that rules this out:

| file | content | published |
|---|---|---|
| ``commitment.json`` | ``{"secret": SHA-256 of secret.json, "policies": {name of the file: SHA-256}}`` | first |
| ``policies/`` | policies as files that execute nothing, ``*.safetensors`` and ``*.onnx`` | before the games |
| ``secret.json`` | ``{"first": number of the first deal, "deals": number, "salt": random text}`` | last |
| ``*.npz`` | games, see `quincunx_env.arena.games`; their headers show the secret | with the secret |

`new` draws the secret, 62 random bits, and `add` hands in a policy. The secret is the number of the first deal of the
domain ``sealed``, and the seed of the policies' generators follows from it. `check` verifies a finished season. The
organiser, who has the secret, knows the deals.
"""

import hashlib
import json
import re
import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from quincunx_env.arena.games import Games
from quincunx_env.arena.runner import Progress
from quincunx_env.core.integers import check_integer
from quincunx_env.policies import PolicyFile, check_name
from quincunx_env.submissions.reruns import POSITIONS
from quincunx_env.submissions.verification import VerificationError, VerifiedFile
from quincunx_env.utils.files import write_atomically

COMMITMENT, SECRET, POLICIES = "commitment.json", "secret.json", "policies"
"""Names in the folder of a season."""

SUFFIXES = (".safetensors", ".onnx")
"""Suffixes of policies that can be handed in: reading them executes nothing."""

SECRET_BITS, SALT_BITS = 62, 256
"""Random bits of the number of the first deal, and of a text that keeps the number from being found by trying all."""

MAX_DEALS = 1_000_000
"""Upper limit of the deals of a season."""


@dataclass(frozen=True)
class Secret:
    """The secret of a season."""

    first: int
    """Number of its first sealed deal."""
    deals: int
    digest: str
    """SHA-256 of the file as `new` wrote it, in hexadecimal, whatever its line endings have become."""

    @classmethod
    def read(cls, path: Path | str) -> "Secret":
        """Read a secret that `new` drew.

        Raises:
            ValueError: if the file holds something else.
            OSError: if it cannot be read.
        """
        values = _read(Path(path), "secret", ("first", "deals", "salt"))
        first = check_integer(f"the first deal in {path}", values["first"], 0, 2**SECRET_BITS - 1)
        deals = check_integer(f"the number of deals in {path}", values["deals"], 2, MAX_DEALS)
        return cls(first, deals, hashlib.sha256(_content(values)).hexdigest())


def new(folder: Path | str, deals: int = 1000) -> Path:
    """Open a season: draw its secret, and write the commitment to it.

    Args:
        folder: of the season; the secret is written beside it, readable by its owner alone.
        deals: number of deals.

    Returns:
        The path of the secret. Move it into the folder as ``secret.json`` once all games have been played.

    Raises:
        ValueError: for a wrong number of deals, or if there is such a season.
        OSError: if nothing can be written.
    """
    folder, deals = Path(folder), check_integer("deals", deals, 2, MAX_DEALS)
    path = folder.resolve().with_name(f"{folder.resolve().name}.{SECRET}")
    for existing in (path, folder / COMMITMENT):
        if existing.exists():
            raise ValueError(f"{existing} exists already: name another folder")
    values = {"first": secrets.randbits(SECRET_BITS), "deals": deals, "salt": f"{secrets.randbits(SALT_BITS):064x}"}
    _write(path, values, mode=0o600)
    _write(folder / COMMITMENT, {"secret": Secret.read(path).digest, "policies": {}})
    return path


def add(folder: Path | str, files: Iterable[Path | str]) -> dict[str, str]:
    """Add policies to a season.

    Their files are copied to the season, and their hashes are added to the commitment.

    Returns:
        SHA-256 of each file by its name.

    Raises:
        ValueError: for a file of another kind, a name that is taken by another policy, or a season that has ended.
        OSError: if a file cannot be read or written.
    """
    folder = Path(folder)
    commitment = _read_commitment(folder)
    if (folder / SECRET).exists():
        raise ValueError(f"the secret of {folder} is published, its deals are known: hand in for another season")
    added = {}
    for name, file in policy_files(files).items():
        published = commitment["policies"].setdefault(name, file.digest)
        if published != file.digest:
            raise ValueError(f"another policy was handed in as {name!r}: give the file another name")
        added[name] = file.digest
        write_atomically(folder / POLICIES / name, partial(_write_bytes, content=file.location.read_bytes()))
    _write(folder / COMMITMENT, commitment)
    return added


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

    The policies are asked again.

    Args:
        folder: of the season.
        positions: as in `quincunx_env.submissions.reruns.rerun`.
        seed: as in `quincunx_env.submissions.reruns.rerun`.
        progress: as in `quincunx_env.submissions.reruns.rerun`.

    Raises:
        VerificationError: if the secret does not fit the commitment, games are on other deals or false, or a policy is
            not the published one.
        ValueError: if the season is incomplete or a file damaged.
        OSError: if a file cannot be read.
    """
    folder = Path(folder)
    commitment = _read_commitment(folder)
    if not (folder / SECRET).exists():
        raise ValueError(f"{folder} has no {SECRET}: a season can be verified when its secret is published")
    secret, verified = Secret.read(folder / SECRET), []
    if secret.digest != commitment["secret"]:
        raise VerificationError(f"{folder / SECRET}: the secret does not fit the commitment, whose SHA-256 differs")
    for path in sorted(folder.glob("*.npz")):
        records, policies = Games.read(path), {}
        config = records.config
        if (config.domain, config.first, config.deals) != ("sealed", secret.first, secret.deals):
            raise VerificationError(f"{path}: the games are not on the deals of the secret in {folder / SECRET}")
        for name in {name: None for lineup in records.lineups for name in lineup.policies}:
            published = commitment["policies"].get(name)
            if published is None:
                raise VerificationError(f"{path}: the policy {name!r} was not handed in before the games")
            policies[name] = PolicyFile(str(folder / POLICIES / name))
            if policies[name].digest != published:
                raise VerificationError(f"{policies[name].path}: the policy was changed after its hash was published")
        verified.append(VerifiedFile.check(path, policies, positions, seed, progress, sealed=True))
    if not verified:
        raise ValueError(f"{folder} has no files of games (*.npz)")
    return verified


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
    values = _read(folder / COMMITMENT, "commitment", ("secret", "policies"))
    policies = values["policies"]
    digests = [values["secret"], *policies.values()] if isinstance(policies, dict) else [None]
    if not all(isinstance(each, str) and re.fullmatch("[0-9a-f]{64}", each) for each in digests):
        raise ValueError(f"{folder / COMMITMENT} is damaged: it holds SHA-256 in hexadecimal")
    if wrong := [name for name in policies if Path(name).name != name or Path(name).suffix not in SUFFIXES]:
        raise ValueError(f"{folder / COMMITMENT} is damaged: {wrong[0]!r:.220} is not a policy file's name")
    return values


def _write(path: Path, values: dict[str, Any], mode: int = 0o666) -> None:
    write_atomically(path, partial(_write_bytes, content=_content(values), mode=mode))


def _content(values: dict[str, Any]) -> bytes:
    return f"{json.dumps(values, indent=1)}\n".encode()


def _write_bytes(path: Path, content: bytes, mode: int = 0o666) -> None:
    path.touch(mode)  # as open() does, less what the umask takes
    path.write_bytes(content)
