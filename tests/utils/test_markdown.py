"""Tables in Markdown."""

from quincunx_env.utils.markdown import markdown_table


def test_a_table_without_rows() -> None:
    assert markdown_table(("policy", "mean"), []) == "| policy | mean |\n|---|---|"


def test_a_table_without_a_header() -> None:
    assert markdown_table((), [("a", 1), ("b", "")]) == "| | |\n|---|---|\n| a | 1 |\n| b |  |"


def test_bars_are_escaped_once() -> None:
    assert markdown_table(("a|b",), [(r"c\|d",), ("|",)]) == "| a\\|b |\n|---|\n| c\\|d |\n| \\| |"
