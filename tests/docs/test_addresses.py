"""The addresses in ``[project.urls]`` and where they are written; the page on publishing."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from docs.addresses import with_addresses, with_badges

ROOT = Path(__file__).parents[2]
URLS = {"Repository": "https://host.example/someone/quincunx_env", "Documentation": "https://site.example/"}


@pytest.mark.parametrize(("name", "write"), [("README.md", with_badges), ("CITATION.cff", with_addresses)])
def test_addresses_are_written_replaced_and_removed(name: str, write: Callable[[str, Mapping[str, str]], str]) -> None:
    plain = write((ROOT / name).read_text(encoding="utf-8"), {})
    written = write(plain, URLS)
    added = [line for line in written.splitlines() if line not in plain.splitlines()]
    assert len(added) == 2
    assert all(address in line for address, line in zip(URLS.values(), added, strict=True))
    assert write(written, URLS) == written
    assert URLS["Repository"] not in write(written, URLS | {"Repository": "https://other.example/quincunx_env"})
    assert write(written, {}) == plain


def test_the_badges_stand_between_title_and_picture() -> None:
    first, _, badge, link, _, picture, *_ = with_badges((ROOT / "README.md").read_text(encoding="utf-8"), URLS).split(
        "\n"
    )
    assert (first, badge[:3], link[:2], picture[:2]) == ("# quincunx_env", "[![", "[d", "![")


def test_the_page_is_short_and_its_entries_have_our_versions() -> None:
    page = (ROOT / "docs" / "publishing.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 50
    tested = dict(
        re.findall(r"^(gymnasium|pettingzoo)==(.*)$", (ROOT / "constraints" / "default.txt").read_text(), re.M)
    )
    badges = re.findall(r"badge/(\w+)-v([\d.]+)-blue", page)
    assert {library.lower(): version for library, version in badges} == tested
