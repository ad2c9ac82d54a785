"""SVG as PDF, by svglib."""

from io import BytesIO, StringIO

from reportlab.graphics import renderPDF
from svglib.svglib import svg2rlg


def pdf(svg: str) -> bytes:
    """An SVG document as a PDF file of one page, in the size of the picture."""
    drawing = svg2rlg(StringIO(svg))
    written = BytesIO()
    renderPDF.drawToFile(drawing, written)
    return written.getvalue()
