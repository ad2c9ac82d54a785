"""Documentation that follows from the code is up to date."""

from PIL import Image

from docs.generate import ANIMATION, SHEET, contact_sheet, pages
from tests.pictures import TOLERANCE, difference


def test_generated_pages_are_up_to_date() -> None:
    for path, text in pages().items():
        assert path.read_text() == text, f"{path.name} is out of date: run `make docs`"


def test_the_contact_sheet_shows_the_reference_pictures() -> None:
    with Image.open(SHEET) as image:
        assert image.size == contact_sheet().size, "out of date: run `make docs`"
        assert difference(image, contact_sheet()) < TOLERANCE, "out of date: run `make docs`"


def test_the_animation_shows_a_whole_game() -> None:
    with Image.open(ANIMATION) as image:
        assert getattr(image, "n_frames", 1) == 13  # the deal and twelve plays
    assert ANIMATION.stat().st_size < 1_000_000
