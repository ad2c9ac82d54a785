"""Generated documentation is up to date, and the site with the notebooks builds without a warning."""

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest
from PIL import Image

import quincunx_env
from docs.pictures import (
    ANIMATION,
    CURVE,
    MANY,
    MANY_SIDE,
    SHEET,
    contact_sheet,
    draw_learning_curve,
    games,
    side_by_side,
    update,
)
from docs.programs import program
from quincunx_env import Batch, Rules
from quincunx_env.arena import table
from tests.docs import test_language as language
from tests.pictures import TOLERANCE, difference

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(ROOT.glob("notebooks/*.ipynb"))
PAGES = sorted({*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")})
COLLAPSED = {"tags": ["hide-cell"], "jupyter": {"source_hidden": True}}
"""Metadata of a cell with a solution, collapsed on the site and in JupyterLab."""
MACHINE = re.compile(r"/(?:home|Users|root|tmp|work|mnt|opt)/|[A-Z]:\\")


def test_generated_pages_and_tables_are_up_to_date() -> None:
    pytest.importorskip("sb3_contrib")
    from docs.addresses import files_with_addresses
    from docs.figures import FIGURES, PLACE, pages_with_figures
    from docs.pages import pages

    tables = pages_with_figures()
    for path, text in (pages() | tables | files_with_addresses()).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name} is out of date: run `make docs`"
    assert {place[1] for text in tables.values() for place in PLACE.findall(text)} == {*FIGURES}


def test_a_learner_is_the_mean_over_its_seeds_on_benchmark_deals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run replaces the rows of its seed. The points of the curve are on validation deals."""
    pytest.importorskip("sb3_contrib")
    from docs import learners

    def learn(run: learners.Learning) -> None:
        run.keep(300, "validation", solitaire=run.seed)
        run.keep(300, "benchmark", solitaire=100 + 4 * run.seed, seconds=9)

    monkeypatch.setattr(learners, "FILE", tmp_path / "learners.csv")
    monkeypatch.setattr(learners, "LEARNERS", {"mine": learners.Learner("Mine", learn)})
    for seed in (0, 1, 0):
        learners.main("mine", seed)
    assert learners.table(two=False).splitlines()[2:] == ["| `mine` | Mine | 2 | 102.0 (76.6 to 127.4) | 9 s |"]
    learners.draw(tmp_path / "curve.png", two=False)
    assert (tmp_path / "curve.csv").read_text().splitlines()[1].startswith("mine,300.0,0.5,-5.8")


def test_the_readme_shows_the_table_of_the_quick_start() -> None:
    tables = [
        re.findall(r"^\| agent \| deals .*\n(?:\|.*\n)+", text_of(ROOT / page), re.MULTILINE)
        for page in ("README.md", "docs/quick_start.md")
    ]
    assert tables[0] == tables[1]
    assert tables[0][0].partition("\n")[0] == table({}).partition("\n")[0]


def test_the_reference_has_every_package_and_public_name() -> None:
    text = "".join(text_of(page) for page in ROOT.glob("docs/api/*.md"))
    documented = {module.split(".")[0] for module in re.findall(r"automodule:: quincunx_env\.(\S+)", text)}
    folder = ROOT / "quincunx_env"
    packages = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    assert {name for name in packages if not name.startswith("_")} - documented == {"cli", "utils"}  # not for users
    listed = re.findall(r"^   ~(?:\w+\.)*(\w+)$", text, re.MULTILINE)
    assert sorted(listed) == sorted(quincunx_env.__all__)


def test_the_reference_has_every_name_that_a_page_imports() -> None:
    """A package may export it from the documented module."""
    text = "".join(text_of(page) for page in ROOT.glob("docs/api/*.md"))
    names, imported = {f"quincunx_env.{name}" for name in quincunx_env.__all__}, set()
    for module, members in re.findall(r"automodule:: (\S+)(?:\n   :members: (.*))?", text):
        names |= {module, *(f"{module}.{name}" for name in members.split(", "))}
    for page in {ROOT / "README.md", *ROOT.glob("docs/**/*.md")}:
        for node in ast.walk(ast.parse(program(text_of(page)))):
            match node:
                case ast.Import():
                    imported |= {(each.name, "") for each in node.names}
                case ast.ImportFrom(module=str(module)):
                    imported |= {(module, f".{each.name}") for each in node.names}
    ours = {(module, name) for module, name in imported if module.startswith("quincunx_")}
    assert len(ours) > 50
    known = {
        (module, name) for module, name in ours for each in names if each.startswith(module) and each.endswith(name)
    }
    assert ours - known == set()


def test_examples_for_learning_have_the_preview() -> None:
    """Without it `MlpPolicy` learns next to nothing."""
    lines = [line for page in PAGES for line in text_of(page).splitlines() if re.search(r"VecEnv\(\d", line)]
    assert len(lines) > 5
    assert [line for line in lines if "preview=True" not in line] == []


def test_pages_that_need_a_checkout_say_so() -> None:
    """`train` is in no wheel."""
    need = [page for page in PAGES if re.search(r"^    python -m train|^from train", text_of(page), re.MULTILINE)]
    assert len(need) > 5
    assert [page.name for page in need if "checkout" not in text_of(page)] == []


def test_figures_of_the_networks_have_commands_and_enough_deals() -> None:
    from docs.models import model_card
    from quincunx_agents.networks.value import shipped

    for network in shipped():
        for variant, result in model_card(network)["benchmark"].items():
            assert result["deals"] >= 2000, f"{network}, {variant}"
            assert f"--deals {result['deals']}" in result["command"], f"{network}, {variant}"


def test_pictures_show_what_is_drawn_now() -> None:
    for path, picture in games().items():
        assert path.read_text(encoding="utf-8") == picture, f"{path.name}: run `make docs`"


def test_the_contact_sheet_shows_all_variants() -> None:
    with Image.open(SHEET) as image:
        sheet = contact_sheet()
        assert image.size == sheet.size, "out of date: run `make docs`"
        assert difference(image, sheet) < TOLERANCE, "out of date: run `make docs`"


def test_the_learning_curve_shows_its_runs(tmp_path: Path) -> None:
    draw_learning_curve(tmp_path / CURVE.name)
    with Image.open(CURVE) as image, Image.open(tmp_path / CURVE.name) as drawn:
        assert image.size == drawn.size
        assert difference(image.convert("RGB"), drawn.convert("RGB")) < TOLERANCE, "out of date: run `make docs`"


def test_every_cell_of_the_agents_is_filled() -> None:
    rows = [line.strip("| ").split(" | ") for line in text_of(ROOT / "docs/agents.md").splitlines() if "| `" in line]
    assert len({*map(len, rows[:7])}) == len({*map(len, rows[7:13])}) == 1
    assert all(all(row) for row in rows)


def test_the_citation_is_of_this_version() -> None:
    facts = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    [title], [version] = (re.findall(rf"^{name}: (.*)$", facts, re.MULTILINE) for name in ("title", "version"))
    assert version == quincunx_env.__version__
    [entry] = re.findall(r"```bibtex\n(.*?)```", text_of(FRONT), re.DOTALL)
    assert re.findall(r"(?:title|version) = \{(.*)\}", entry) == [title.replace("_", r"\_"), version]


def test_a_picture_that_looks_the_same_is_left_alone(tmp_path: Path) -> None:
    path, pixels = tmp_path / "picture.png", np.zeros((4, 4, 3), np.uint8)
    for value, level, written in ((0, 0, True), (0, 9, False), (1, 9, True)):
        pixels[0] = value
        before = path.read_bytes() if path.exists() else b""
        update(path, lambda new, level=level: Image.fromarray(pixels).save(new, compress_level=level))  # type: ignore[misc]
        assert (path.read_bytes() != before) == written


@pytest.mark.parametrize("path", [ANIMATION, MANY], ids=lambda path: path.stem)
def test_an_animation_shows_a_whole_game(path: Path) -> None:
    with Image.open(path) as image:
        assert getattr(image, "n_frames", 1) == 13  # the deal and twelve plays
    assert path.stat().st_size < 700_000


def test_many_games_are_shown_side_by_side() -> None:
    batch = Batch(Rules(), MANY_SIDE[0] * MANY_SIDE[1])
    batch.reset(seed=0)
    with Image.open(MANY) as image:
        assert difference(image.convert("RGB"), side_by_side(batch)) < TOLERANCE, "out of date: run `make docs`"


def broken_links(site: Path) -> set[str]:
    """Links of a built site to places that it lacks; the pages that play have scripts that write theirs."""
    pages = {path.resolve(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    places = {path: {*re.findall(r'\s(?:id|name)="([^"]+)"', text)} for path, text in pages.items()}
    broken = set()
    for page, text in pages.items():
        for link in re.findall(r'<[^<>]*\s(?:href|src)="([^"]*)"', text):
            file, _, place = unquote(link).partition("#")
            target = (page.parent / file.partition("?")[0]).resolve() if file else page
            local = not re.match(r"\w+:", link) and page.parent.name != "_static"
            if local and not (target.exists() and (not place or target.suffix != ".html" or place in places[target])):
                broken.add(f"{page.relative_to(site.resolve())}: {link}")
    return broken


def test_pages_name_the_game_by_an_address_that_a_checkout_has() -> None:
    """The folder ``_static`` is one of the built site alone."""
    texts = [path.read_text(encoding="utf-8") for path in PAGES]
    assert not re.findall(r'href="[^"]*_static/|\]\([^)]*_static/', "".join(texts))
    assert "python -m docs.game_page" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.site
def test_the_site_builds_without_warnings_and_runs_the_notebooks(tmp_path: Path) -> None:
    """As ``make docs`` builds it; this checks references, links between pages and the cells of notebooks."""
    for library in ("furo", "myst_nb", "sb3_contrib"):
        pytest.importorskip(library)
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-c", "docs", ".", str(tmp_path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    built = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    for notebook in NOTEBOOKS:
        written = (tmp_path / "notebooks" / f"{notebook.stem}.html").read_text(encoding="utf-8")
        assert "cell_output" in written, f"{notebook.name} was not run"
    assert broken_links(tmp_path) == set()
    holder = re.findall(r"Copyright \(c\) (.*)", (ROOT / "LICENSE").read_text(encoding="utf-8"))[0]
    for page in tmp_path.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert 'role="heading">' not in text, f"{page.name} has a heading without a level"
        assert str(ROOT) not in text, f"{page.name} contains the path where it was built"
        assert not re.search(r"<p>\|.*\|$", text, re.MULTILINE), f"{page.name} shows a table as text"
        alone = ("index.html", "_static/game.html", "_static/replay.html")  # the first leads to docs
        if page not in [tmp_path / name for name in alone]:
            assert f"Copyright &#169; {holder}" in text, f"{page.name} names no holder of the copyright"
            if page.relative_to(tmp_path).parts[0] in ("docs", "notebooks"):
                assert '<meta name="description" content="' in text, f"{page.name} is not described"
            assert "_static/site.css" in text, f"{page.name}: code of 120 columns is clipped without site.css"
    assert "Values of value" in (tmp_path / "_static" / "replay.html").read_text(encoding="utf-8")
    assert '<iframe title="Replay player"' in (tmp_path / "docs" / "play.html").read_text(encoding="utf-8")
    assert "white-space: pre-wrap" in (tmp_path / "_static" / "site.css").read_text(encoding="utf-8")
    sidebar = re.findall(
        r'toctree-l1[^>]*><a[^>]*href="(.*?)"', (tmp_path / "docs" / "index.html").read_text(encoding="utf-8")
    )
    assert "../RULES.html" in sidebar
    assert not [entry for entry in sidebar if "#" in entry], "headings of a page are entries beside it: use one `# `"


def test_links_of_the_readme_exist() -> None:
    """The build of the site checks all other pages."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    files = [link for link in links if not link.startswith("http")]
    assert files
    for file in files:
        assert (ROOT / file).exists(), f"README.md links to {file}, which does not exist"


PATH = re.compile(r"`((?:agents|docs|quincunx_env|tests|train)/[\w./-]+)`")


@pytest.mark.parametrize("page", [path for path in PAGES if path.name != "CHANGELOG.md"], ids=lambda path: path.name)
def test_paths_on_pages_exist(page: Path) -> None:
    for path in PATH.findall(page.read_text(encoding="utf-8")):
        assert (ROOT / path).exists(), f"{page.name} names {path}, which does not exist"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}
    assert notebook["metadata"]["kernelspec"]["name"] == "python3"
    assert set(notebook["metadata"]["language_info"]) == {"name"}
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert cell["metadata"] in ({}, COLLAPSED)
        assert not MACHINE.search("".join(cell["source"]))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_have_exercises_with_solutions(path: Path) -> None:
    exercises = text_of(path).partition("## Exercises\n\n")[2].partition("## ")[0]
    asked = re.findall(r"^(\d)\. .*?\*Hint:\*", exercises, re.MULTILINE | re.DOTALL)
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    solved = ["".join(cell["source"]) for cell in cells if cell["metadata"] == COLLAPSED]
    assert [re.split(r"\W", solution.removeprefix("# "))[0] for solution in solved] == asked != []


def test_the_analysis_shows_no_missing_values_as_numbers() -> None:
    """The agent evaluates all legal actions, as the text says."""
    pytest.importorskip("IPython")
    pytest.importorskip("matplotlib")
    cells = json.loads((ROOT / "notebooks" / "analysis.ipynb").read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    names: dict[str, Any] = {}
    for source in [source for source, cell in zip(sources, cells, strict=True) if cell["cell_type"] == "code"][:4]:
        exec(compile(source, "analysis", "exec"), names)
    for game, values, *_ in names["decisions"]:
        assert np.isfinite(values).sum() == len(game.legal_cards()) * len(game.legal_cells())
    assert "nan" not in "\n".join(names["lines"])


# --- Layout of the site ----------------------------------------------------------------------------------------------

FRONT = ROOT / "docs" / "index.md"


def text_of(page: Path) -> str:
    """Text of a page or of the Markdown cells of a notebook."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    return "\n".join("".join(cell["source"]) for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown")


def sidebar() -> dict[str, list[Path]]:
    """Pages of the sidebar by part."""
    trees = re.findall(r"```\{toctree\}\n:hidden:\n:caption: (.*)\n\n((?:.+\n)+)```", FRONT.read_text(encoding="utf-8"))
    return {part: [(FRONT.parent / f"{name}.md").resolve() for name in names.split()] for part, names in trees}


def links(page: Path) -> set[Path]:
    """Pages to which a page links."""
    found = {(page.parent / link).resolve() for link in re.findall(r"\]\(([^)#:\s]+)[^)]*\)", text_of(page))}
    return {path for path in found if path.suffix in {".md", ".ipynb"}}


def clicks() -> dict[Path, int]:
    """Pages of the site by the number of clicks from the front page, the sidebar included."""
    found, number = {FRONT: 0}, 0
    nearest = {FRONT}
    while nearest:
        number += 1
        reached = {*links(FRONT), *(page for part in sidebar().values() for page in part)} if number == 1 else set()
        nearest = reached.union(*(links(page) for page in nearest)) - found.keys()
        found |= dict.fromkeys(nearest, number)
    return found


def users_pages() -> set[Path]:
    """Hand-written pages of a user's way."""
    parts = sidebar()
    listed = {page for part in ("Start", "Environments", "Train and evaluate") for page in parts[part]}
    generated = {*ROOT.glob("docs/environments/*.md"), ROOT / "docs" / "observations.md"}
    return {FRONT, *listed} - generated | {ROOT / "docs" / "environments" / "index.md"}


def words(pages: set[Path]) -> int:
    """Count words, those of tables and programs too."""
    return sum(any(map(str.isalnum, word)) for page in pages for word in page.read_text(encoding="utf-8").split())


def test_the_table_of_environments_shows_each_with_a_picture_and_a_sentence() -> None:
    pytest.importorskip("sb3_contrib")
    from docs.pages import ENVIRONMENTS

    page = ROOT / "docs" / "environments" / "index.md"
    rows = re.findall(r"^\| !\[\]\((\S+)\) \| \[.+?\]\((\w+)\.md\) \| [^|]+\. \| ", text_of(page), re.MULTILINE)
    assert [name for _, name in rows] == [*ENVIRONMENTS]
    assert all((page.parent / picture).is_file() for picture, _ in rows)


def test_pages_are_short() -> None:
    assert words({ROOT / "README.md"}) <= 880
    assert words(users_pages()) <= 12_500
    assert words({*ROOT.glob("docs/**/*.md")}) <= 28_000


def test_the_sidebar_has_five_short_parts() -> None:
    parts = sidebar()
    assert [*parts] == ["Start", "Environments", "Train and evaluate", "Reference", "Background"]
    assert sum(map(len, parts.values())) <= 36
    assert not [page for part in parts.values() for page in part if not page.exists()]


def test_every_page_is_found_from_the_front_page() -> None:
    """Pages outside the sidebar are linked to; `suppress_warnings` in docs/conf.py leaves that to this test."""
    distance = clicks()
    pages = {*PAGES, *NOTEBOOKS} - {ROOT / "README.md"}
    assert not pages - distance.keys()
    assert max(distance[page] for page in pages) <= 3


def test_titles_are_unique() -> None:
    titles = {page: text_of(page).partition("# ")[2].partition("\n")[0] for page in clicks()}
    assert len({*titles.values()}) == len(titles), sorted(titles.values())


@pytest.mark.parametrize("page", sorted({*users_pages(), ROOT / "README.md"}), ids=lambda path: path.stem)
def test_tables_of_users_pages_have_cells_not_paragraphs(page: Path) -> None:
    rows = [line for line in page.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    shown = [re.sub(r"\]\([^)]*\)", "]", row) for row in rows]
    assert not [row for row in shown if len(row) > 200]
    assert not [cell for row in shown for cell in row.strip("| ").split(" | ") if len(cell.strip()) > 60]


@pytest.mark.parametrize("page", sorted({*users_pages(), ROOT / "README.md"}), ids=lambda path: path.stem)
def test_sentences_of_users_pages_are_short(page: Path) -> None:
    text = re.sub(r"```.*?```|<!--.*?-->", "", text_of(page), flags=re.DOTALL)
    shown = re.sub(r"\]\([^)]*\)", "]", text).replace("[", "").replace("]", "")
    assert not [each for each in language.sentences(shown) if language.words(each) > language.LONGEST_SENTENCE]


@pytest.mark.parametrize(
    ("page", "answer"),
    [
        ("docs/agents.md", "**Strongest within 10 ms per action**: `value`"),
        ("docs/training.md", "## Your own reward"),
        ("docs/environments/index.md", "'2VL (2, 1)'"),  # action 137
        ("docs/environments/index.md", "## The same deal again"),
        ("docs/libraries.md", "| TorchRL, Tianshou | a `Masked` id |"),
        ("docs/play.md", "## Against your own model"),
        ("docs/agents.md", "**A good score of the solitaire** is 150 or more"),
        ("docs/index.md", "This is [CITATION.cff](../CITATION.cff) as BibTeX"),
        ("docs/index.md", "[MIT licence](../LICENSE) allows use, changes and sale"),
        ("CONTRIBUTING.md", "## Reporting a bug"),
    ],
)
def test_questions_of_newcomers_are_answered_within_two_clicks(page: str, answer: str) -> None:
    assert answer in (ROOT / page).read_text(encoding="utf-8")
    assert clicks()[ROOT / page] <= 2
