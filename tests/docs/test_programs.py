"""`docs.programs`: what pyright sees of a page."""

from docs.programs import program


def test_a_page_is_one_program() -> None:
    page = "\n\n```python\n>>> a = 1\n>>> a\n1\n\n```\n\nText\n\n```python\nb = a\n```\n```toml\nc\n```\n"
    assert program(page).split("\n") == ["a = 1", "a", "", "b = a", ""]
