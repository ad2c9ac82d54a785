"""Write the addresses in ``[project.urls]`` of pyproject.toml into README.md and CITATION.cff, if there are any.

``Repository`` is the page of the repository at its host, ``Documentation`` the site.
"""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def with_badges(readme: str, urls: Mapping[str, str]) -> str:
    """Write the badges below the title, in place of earlier ones."""
    badges = ""
    if address := urls.get("Repository", "").rstrip("/"):
        tests = f"{address}/actions/workflows/tests.yml"
        badges = f"[![tests]({tests}/badge.svg)]({tests})\n"
    if site := urls.get("Documentation"):
        badges += f"[documentation]({site})\n"
    return re.sub(r"\A(# .*\n\n)(?:(?:\[.*\n)+\n)?", lambda title: title[1] + f"{badges}\n".lstrip(), readme)


def with_addresses(citation: str, urls: Mapping[str, str]) -> str:
    """Write the addresses below the licence, in place of earlier ones."""
    keys = {"repository-code": urls.get("Repository"), "url": urls.get("Documentation")}
    lines = "".join(f"{key}: {address}\n" for key, address in keys.items() if address)
    pattern = rf"^(license: .*\n)(?:(?:{'|'.join(keys)}): .*\n)*"
    return re.sub(pattern, lambda licence: licence[1] + lines, citation, flags=re.MULTILINE)


def files_with_addresses() -> dict[Path, str]:
    """Return README.md and CITATION.cff as they are with the addresses, by path."""
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
    writers = {ROOT / "README.md": with_badges, ROOT / "CITATION.cff": with_addresses}
    return {path: write(path.read_text(encoding="utf-8"), urls) for path, write in writers.items()}
