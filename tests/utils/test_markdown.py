"""Tables in Markdown."""

from html import escape

import pytest

from quincunx_env.utils.markdown import escaped, markdown_table


def test_a_table_without_rows() -> None:
    assert markdown_table(("policy", "mean"), []) == "| policy | mean |\n|---|---|"


def test_a_table_without_a_header() -> None:
    assert markdown_table((), [("a", 1), ("b", "")]) == "| | |\n|---|---|\n| a | 1 |\n| b |  |"


def test_bars_are_escaped_once() -> None:
    assert markdown_table(("a|b",), [(r"c\|d",), ("|",)]) == "| a\\|b |\n|---|\n| c\\|d |\n| \\| |"


@pytest.mark.parametrize(
    "name", ["_a_", "__a__", "a_b", "*a*", "`a`", "<b>a", "[a](b)", "&lt;", r"\*a", r"runs\a", "a_", "~~a~~", "![a](b)"]
)
def test_escaped_names_are_shown_as_they_are(name: str) -> None:
    markdown = pytest.importorskip("markdown_it").MarkdownIt("gfm-like", {"linkify": False})
    assert markdown.renderInline(escaped(name)) == escape(name, quote=False)
    assert (escaped(name) == name) == (name in ("a_b", r"runs\a"))
