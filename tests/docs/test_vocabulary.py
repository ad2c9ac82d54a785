"""Words that the project does not use: see Language in CONTRIBUTING.md."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

WORDS = {
    r"doors?": "interface, adapter or environment",
    r"told|tells?": "gives, returns, names, describes",
    r"somebody|nobody|anybody": "any user, a player, no player",
    r"whoever|whom": "name the player, agent or user",
    r"worth": "value",
    r"first sight|at a glance": "without lookahead",
    r"pric(?:es?|ed|ing)": "immediate score, value",
    r"spell(?:s|ed|t|ings?)?": "encoding",
    r"dealt anew|deals? anew": "resampled; determinization",
    r"what there is": "name the things",
    r"what it (?:is|has|says)": "name the thing",
    r"it is asked": "name the method",
    r"judges?|referees?|witness(?:es)?": "reference scorer; evaluates",
    r"look(?:s|ing|ed)? back": "backward pass, targets",
}
"""Regular expressions of whole words, and what to say instead."""

EXEMPT: dict[str, str] = {"quincunx_env/utils/npz.py": "tell"}  # a method of files
"""Words that a file may use, as a regular expression."""

SUFFIXES = {".py", ".md", ".ipynb", ".toml"}


def tracked_files() -> list[Path]:
    """Text files under version control except this one."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    paths = (ROOT / name for name in listed.stdout.split("\0") if name)
    return [path for path in paths if path.suffix in SUFFIXES and path != Path(__file__) and path.exists()]


def violations(path: Path) -> list[str]:
    """Words of a file that are not used, each with its line and what to say instead."""
    name = path.relative_to(ROOT).as_posix()
    exempt = EXEMPT.get(name, "(?!)")
    return [
        f"{name}:{number}: {match[0]!r}: {instead}"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for pattern, instead in WORDS.items()
        for match in re.finditer(rf"\b(?:{pattern})\b", line, re.IGNORECASE)
        if not re.fullmatch(exempt, match[0], re.IGNORECASE)
    ]


def test_vocabulary() -> None:
    found = [violation for path in tracked_files() for violation in violations(path)]
    assert not found, "\n".join(found)
