"""README.md as package indexes show it, with absolute links.

The address is ``Repository`` of ``[project.urls]`` in pyproject.toml. While there is none, links stay as they are.
"""

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"\]\((?![a-z]+:|#)([^)\s]+)\)")
PICTURES = (".png", ".webp", ".svg")


def with_absolute_links(markdown: str, address: str) -> str:
    """Let relative links lead to the repository, in a form that GitHub and GitLab understand.

    Args:
        markdown: a page at the top of the repository.
        address: of the repository.
    """

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1].endswith(PICTURES) else "blob"
        return f"]({address.rstrip('/')}/{kind}/HEAD/{link[1]})"

    return LINK.sub(absolute, markdown) if address else markdown


class ReadmeHook(MetadataHookInterface):
    """Gives hatchling the field ``readme``."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Change the table ``[project]``; hatchling calls this."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = with_absolute_links(readme, metadata.get("urls", {}).get("Repository", ""))
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
