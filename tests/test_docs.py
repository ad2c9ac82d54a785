"""Documentation that follows from the code is up to date."""

from docs.generate import pages


def test_generated_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text() == text, f"{path.name} is out of date: run `make docs`"
