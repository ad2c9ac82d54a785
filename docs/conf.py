"""Configuration of the documentation site (``make docs``).

The source folder is the repository, not this folder. Relative links work here as on the code-hosting site. RULES.md,
CHANGELOG.md and the notebooks are pages without being copied.
"""

import html
import re
import sys
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy.typing as npt
from docutils import nodes
from sphinx.util.typing import stringify_annotation

from docs.game_page import game_page
from quincunx_env import __version__, render
from quincunx_env.arena import Run, evaluate, explain
from quincunx_env.arena.games import Games
from quincunx_env.render.replay_page import replay_page

project = "quincunx_env"
LICENSE = (Path(__file__).parents[1] / "LICENSE").read_text(encoding="utf-8")
copyright = LICENSE.partition("Copyright (c) ")[2].partition("\n")[0]
author = copyright.partition(" ")[2]
version = release = __version__

extensions = [
    "myst_nb",  # Markdown pages; runs the notebooks
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.viewcode",
    "sphinx_copybutton",
]
root_doc = "docs/index"
include_patterns = ["docs/**", "notebooks/*", "*.md"]
exclude_patterns = ["README.md", "docs/**/README.md", "**/.*", "**/__pycache__"]  # docs/index.md replaces README.md
suppress_warnings = ["toc.not_included"]  # the sidebar is short: tests/docs/test_docs.py looks for links to all pages
highlight_language = "none"  # blocks without a language are shell commands and diagrams
html_theme = "furo"
html_title = f"quincunx_env {version}"
html_additional_pages = {"index": "to_root.html"}  # root_doc lies in a folder
templates_path = ["templates"]
html_static_path = ["static"]
html_css_files = ["site.css"]
html_logo = "../quincunx_env/play/web/static/icon.svg"
html_favicon = "../quincunx_env/play/web/static/icon.svg"
html_search_scorer = str(Path(__file__).with_name("search_scores.js"))  # pages before attributes of classes
html_sourcelink_suffix = ""  # a notebook is downloaded under its name

myst_heading_anchors = 4  # the anchors of headings that code-hosting sites use
myst_enable_extensions = ["colon_fence"]
myst_url_schemes = dict.fromkeys(("http", "https", "mailto")) | {  # code-hosting sites show a link to `site:` as text
    "site": {"url": "../_static/{{path}}", "classes": ["door"]}
}
nb_render_markdown_format = "gfm"  # tables in the outputs of notebooks
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 600  # seconds for a cell, on a busy machine
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Single backticks in docstrings are cross-references; their targets must exist.
default_role = "py:obj"
nitpicky = True
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
autodoc_mock_imports = ["pyspiel", "ray"]  # not installed with the site
nitpick_ignore_regex = [
    # other projects
    ("py:.*", r"(collections|concurrent|importlib|inspect|pathlib)\..*"),
    ("py:.*", r"quincunx_agents\..*"),  # most modules have no reference pages
    ("py:.*", r"(numpy|npt|np|gymnasium|pettingzoo|ray|stable_baselines3|torch|matplotlib)\..*"),
    ("py:.*", r"pyspiel\..*"),
    ("py:.*", r"ResetNeeded|DependencyNotInstalled|Figure"),
    ("py:class", r"quincunx_env\..*\.(Any[A-Z]\w*|Number|Rect)"),  # type variables, an alias
    ("py:class", r"[^.]*"),  # shapes where napoleon expects a type: Returns: int64 [n, P]: ...
]


def setup(app: Any) -> None:
    """Connect the functions below; Sphinx calls this one."""
    app.connect("autodoc-process-docstring", before_napoleon, priority=400)
    app.connect("autodoc-process-signature", short_array_types)
    app.connect("missing-reference", resolve_as_python)
    app.connect("html-page-context", complete_page)
    app.connect("html-page-context", mend_page, priority=900)  # after the theme
    app.connect("build-finished", write_games)


def complete_page(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Describe a page for link previews and search engines, and let a notebook be downloaded."""
    first = next(document.findall(nodes.paragraph), None) if document else None
    if first is None:
        return
    picture, text = context["pathto"]("_static/preview.png", 1), html.escape(" ".join(first.astext().split()))
    title = html.escape(f"{document.next_node(nodes.title).astext()} · {project}")
    context["metatags"] += f'<meta name="description" content="{text}">'
    for name, value in {"description": text, "title": title, "image": picture}.items():
        context["metatags"] += f'<meta property="og:{name}" content="{value}">'
    if context["page_source_suffix"] == ".ipynb":
        source = context["pathto"](f"_sources/{context['sourcename']}", 1)
        link = f'</h1>\n<p><a href="{source}" download>Download the notebook</a></p>'
        context["body"] = context["body"].replace("</h1>", link, 1)


def mend_page(app: Any, page: str, template: str, context: dict[str, Any], document: Any) -> None:
    """Give captions of the sidebar a level, and let pages with source code link to where its objects are documented."""
    if "furo_navigation_tree" in context:
        tree = context["furo_navigation_tree"]
        context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    if not page.startswith("_modules/"):
        return
    module, objects = page.removeprefix("_modules/").replace("/", "."), app.env.domains.python_domain.objects

    def documented(found: re.Match[str]) -> str:
        known = objects.get(f"{module}.{found[2]}")
        link = f"{context['pathto'](known.docname)}#{known.node_id}" if known else found[3]
        return f'{found[1]}"{link}"'

    body = re.sub(r'(id="([\w.]+)">\s*<a class="viewcode-back" href=)"([^"]*)"', documented, context["body"])
    context["body"] = re.sub(r'<li><a href="builtins.html">builtins</a></li>\n?', "", body)  # which has no source


def write_games(app: Any, error: Exception | None) -> None:
    """Write the page that plays, the replay player, and the preview picture."""
    if error is None and app.builder.format == "html":
        with TemporaryDirectory() as folder:
            evaluate("value", 3, run=Run(records=Path(folder, "value.npz")))
            games = Games.read(Path(folder, "value.npz"))
        records = sorted(map(games.record, range(3)), key=lambda record: -record.game().totals[0])
        page = replay_page(
            records,
            values=lambda game: explain("value", game),
            valued_by="value in points",
        )
        Path(app.outdir, "_static", "game.html").write_text(game_page(), encoding="utf-8")
        Path(app.outdir, "_static", "replay.html").write_text(page, encoding="utf-8")
        render.save(Path(app.outdir, "_static", "preview.png"), records[0].game())


def before_napoleon(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Prepare a docstring for napoleon: headings as rubrics, tables as list-tables, attributes without types."""
    text = re.sub(r"^## (.*)$", r".. rubric:: \1\n", "\n".join(lines), flags=re.MULTILINE)
    text = re.sub(r"(?:^\|.*\n)+", list_table, text, flags=re.MULTILINE)
    lines[:] = text.splitlines()
    if what in {"attribute", "data", "property"} and ":" in "".join(lines[:1]):
        lines[:0] = ["..", ""]


def list_table(markdown: re.Match[str]) -> str:
    """Return a Markdown table as a reStructuredText list-table."""
    header, _, *rows = (line.strip("| ").split(" | ") for line in markdown[0].splitlines())
    lines = (
        f"   {'* -' if number == 0 else '  -'} {cell}" for row in (header, *rows) for number, cell in enumerate(row)
    )
    return ".. list-table::\n   :header-rows: 1\n\n" + "\n".join(lines) + "\n"


ARRAY_LIKE = stringify_annotation(npt.ArrayLike, "smart")
MODULE = re.compile(r"<module '(\w+)' from '[^']*'>")
ARRAY = re.compile(r"~?numpy\.ndarray\[~?tuple\[.*?\], ~?numpy\.dtype\[~?[\w.]*?(\w+)(?:\[[^\[\]]*\])?\]\]")


def short_array_types(
    app: Any, what: str, name: str, obj: object, options: object, signature: str | None, returns: str | None
) -> tuple[str | None, str | None]:
    """Shorten array types in signatures to ``ndarray[int64]`` and ``ArrayLike``, modules to their names."""
    alike = (text and text.replace(ARRAY_LIKE, "~numpy.typing.ArrayLike") for text in (signature, returns))
    texts = (text and MODULE.sub(r"\1", ARRAY.sub(r"~numpy.ndarray[\1]", text)) for text in alike)
    return tuple(texts)  # type: ignore[return-value]


def resolve_as_python(app: Any, env: Any, node: Any, content: Any) -> Any:
    """Find a name in a docstring as Python does in that place.

    Inherited and imported names are found. Otherwise it refers to the only object of that name in its package, or
    anywhere. A name that exists but has no page is not a link.
    """
    module = sys.modules.get(node.get("py:module") or "")
    if node["refdomain"] != "py" or module is None:
        return None
    domain, target = env.domains.python_domain, node["reftarget"]
    names = []
    if cls := getattr(module, node.get("py:class") or "", None):
        names += [f"{base.__module__}.{base.__qualname__}.{target}" for base in cls.__mro__]
    first, _, rest = target.partition(".")
    referent = getattr(module, first, None)
    if isinstance(referent, ModuleType):
        names.append(f"{referent.__name__}.{rest}".rstrip("."))
    elif referent is not None and hasattr(referent, "__qualname__"):
        names.append(f"{referent.__module__}.{referent.__qualname__}.{rest}".rstrip("."))
    elif referent is not None:  # a constant has no attribute with its module
        names += [name for name in domain.objects if name.endswith(f".{target}") and resolve_name(name) is referent]
    anywhere = [name for name, _ in domain.find_obj(env, None, None, target, None, searchmode=1)]
    package = module.__name__.rpartition(".")[0] + "."
    near = [name for name in anywhere if name.startswith(package)] or anywhere
    names += near if len(near) == 1 else []
    for name in names:
        if name in domain.objects:
            return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, content)
    places = (target, f"{module.__name__}.{target}", f"builtins.{target}")
    return content if any(map(exists, [*names, *places])) else None


def exists(name: str) -> bool:
    """Check that Python finds the name, or a class declares it."""
    owner, _, attribute = name.rpartition(".")
    try:
        found = resolve_name(owner)
    except (AttributeError, ImportError, ValueError):
        return False
    declared = (vars(base).get("__annotations__", {}) for base in getattr(found, "__mro__", ()))
    if hasattr(found, attribute) or any(attribute in each for each in declared):
        return True
    return hasattr(found, "__path__") and find_spec(name) is not None  # a module that nothing has imported
