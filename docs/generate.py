"""Write the generated pages and tables, and render the pictures: ``make docs``. A test keeps them up to date."""

from functools import partial

from docs import generalisation, learners
from docs.addresses import files_with_addresses
from docs.figures import pages_with_figures
from docs.pages import pages
from docs.pictures import (
    ANIMATION,
    CURVE,
    MANY,
    SHEET,
    animation,
    contact_sheet,
    draw_learning_curve,
    games,
    many_games,
    update,
)
from tests.web import screenshots
from tests.web.conftest import program_of_chromium

if __name__ == "__main__":
    for path, text in (pages() | pages_with_figures() | games() | files_with_addresses()).items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    update(CURVE, draw_learning_curve)
    update(generalisation.PICTURE, generalisation.draw)
    for path, two in learners.PICTURES.items():
        update(path, partial(learners.draw, two=two))
    update(SHEET, lambda path: contact_sheet().save(path, optimize=True))
    update(ANIMATION, lambda path: path.write_bytes(animation()))
    update(MANY, lambda path: path.write_bytes(many_games()))
    if program_of_chromium():
        screenshots.write()
    else:
        print("docs/pictures/play.webp and replay.webp stay as they are: apt install chromium")
