"""Docstrings and messages in plain words: see Language in CONTRIBUTING.md."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]

CHECKED = ("quincunx_env", "agents/quincunx_agents", "train", "docs", "conftest.py", "hatch_build.py")

MOST_WORDS = 12
"""Most words in the first sentence of a docstring."""

LONGEST_SENTENCE = 25
"""Most words in a sentence of a docstring."""

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


def sentences(docstring: str) -> Iterator[str]:
    """Yield the sentences of a docstring without what stands in parentheses.

    Sections, doctests, lists and tables are left out.
    """
    text = re.split(r"\n(?:Args|Returns|Yields|Raises|Attributes|Examples?):\n", docstring)[0]
    for paragraph in re.split(r"\n\s*\n", text):
        if not re.match(r"\s*(?:>>>|\||- |\* |\d\. |#|`{3}|::)", paragraph) and not paragraph.startswith(" "):
            yield from re.split(r"(?<=[.?!])\s+", re.sub(r"\s*\([^()]*\)", "", paragraph.replace("\n", " ")))


def faults_of_docstring(node: ast.AST, docstring: str) -> Iterator[str]:
    """Yield faults of the docstring of a module, class, function or attribute."""
    summary = re.split(r"\n\n|(?<=[.?!])\s", docstring)[0].replace("\n", " ")
    if summary.startswith("What "):
        yield "begins with What"
    if not isinstance(node, ast.Expr) and words(summary) > MOST_WORDS:
        yield f"first sentence of {words(summary)} words"
    for sentence in sentences(docstring):
        if words(sentence) > LONGEST_SENTENCE:
            yield f"sentence of {words(sentence)} words: {sentence}"


def faults(path: Path) -> Iterator[tuple[int, str]]:
    """Yield faults of a file, each with its line."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    named = set[ast.AST]()
    for node in ast.walk(tree):
        match node:
            case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
                docstring = ast.get_docstring(node)
                if docstring is not None:
                    named.add(node.body[0])
                    yield from ((node.body[0].lineno, fault) for fault in faults_of_docstring(node, docstring))
            case ast.Expr(ast.Constant(str(docstring))) if node not in named:
                yield from ((node.lineno, fault) for fault in faults_of_docstring(node, docstring))
            case ast.Constant(str(text)):
                yield from ((node.lineno, f"{match[0]!r}") for match in TURNS.finditer(re.sub(r"\s+", " ", text)))


def violations(*paths: Path) -> list[str]:
    """List faults of files, and of the Python files in folders."""
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [f"{file.relative_to(ROOT)}:{line}: {fault}" for file in files for line, fault in faults(file)]


def test_language() -> None:
    found = violations(*(ROOT / path for path in CHECKED))
    assert not found, "\n".join(found)
