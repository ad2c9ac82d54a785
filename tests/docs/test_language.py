"""Pages in plain words: see Language in CONTRIBUTING.md."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")} - {ROOT / "RULES.md"})

LONGEST_SENTENCE = 25
"""Most words in a sentence."""

TURNS = re.compile(
    r"\b(?:those of|that of|likewise|of its own|which it is then, too)\b"
    r"|\b(?<!there )(?:is|are) no (?!longer\b|more\b|less\b|better\b|worse\b|\w+er than\b)\w+"
    r"|\b(?:told|tells?|somebody|nobody|anybody|whoever|whom|deals? anew|dealt anew|what there is|it is asked)\b",
    re.IGNORECASE,
)
"""Turns that a reader takes twice: name the thing, or say that it is not one."""


def words(text: str) -> int:
    """Count words: a shape in brackets as none, code as one."""
    text = re.sub(r"\[[^\]]*\]", "", re.sub(r"(`+).+?\1", "code", text))
    return sum(any(map(str.isalnum, word)) for word in text.split())


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text without what stands in parentheses, lists and tables left out."""
    for paragraph in re.split(r"\n\s*\n", text):
        if not re.match(r"\s*(?:>>>|\||- |\* |\d\. |#|`{3}|::)", paragraph) and not paragraph.startswith(" "):
            yield from re.split(r"(?<=[.?!])\s+", re.sub(r"\s*\([^()]*\)", "", paragraph.replace("\n", " ")))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_pages_have_no_turns_that_a_reader_takes_twice(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert not [match[0] for match in TURNS.finditer(re.sub(r"\s+", " ", text))]
