"""Check the types of the programs on pages by pyright.

Editors use it. ``make lint`` runs this module.

A page is one program. docs/libraries.md is left out: its programs follow from the types of other libraries.
"""

import json
import re
import subprocess
import sys
from doctest import DocTestParser
from pathlib import Path

ROOT = Path(__file__).parents[1]

OFF = ("AttributeAccessIssue", "IndexIssue", "MissingImports", "OptionalMemberAccess", "OptionalSubscript")
"""Rules that also object to correct uses of Gymnasium, such as ``env.unwrapped.game``, and to libraries of extras."""


def program(page: str) -> str:
    """Return the source of all blocks of Python on a page."""
    blocks = re.findall(r"^```python\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    sources = ("".join(each.source for each in DocTestParser().get_examples(block)) or block for block in blocks)
    return "\n".join(sources)


def check(folder: Path) -> int:
    """Write all programs to a folder; return the exit status of pyright."""
    folder.mkdir(parents=True, exist_ok=True)
    for page in {ROOT / "README.md", *ROOT.glob("docs/**/*.md")} - {ROOT / "docs" / "libraries.md"}:
        name = "_".join(page.relative_to(ROOT).with_suffix(".py").parts)
        (folder / name).write_text(program(page.read_text(encoding="utf-8")), encoding="utf-8")
    rules = dict.fromkeys((f"report{rule}" for rule in (*OFF, "UnusedExpression")), False)
    settings = {"typeCheckingMode": "standard", "extraPaths": [str(ROOT), str(ROOT / "agents")], **rules}
    (folder / "pyrightconfig.json").write_text(json.dumps(settings), encoding="utf-8")
    command = [sys.executable, "-m", "basedpyright", "--project", str(folder), "--pythonpath", sys.executable]
    return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    raise SystemExit(check(ROOT / "build" / "programs"))
