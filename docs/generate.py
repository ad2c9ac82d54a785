"""Write the pages that follow from the code, and paint the pictures: ``make docs``. A test keeps them up to date."""

from PIL import Image

from docs.pages import pages
from docs.pictures import ANIMATION, SHEET, animation, contact_sheet, games

if __name__ == "__main__":
    for path, text in pages().items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    for path, picture in games().items():
        Image.fromarray(picture).save(path, optimize=True)
    contact_sheet().save(SHEET, optimize=True)
    ANIMATION.write_bytes(animation())
