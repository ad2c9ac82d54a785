"""Make what package indexes show: README.md with absolute links, and further links beside it.

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
        address: of the repository, without a slash at its end.
    """

    def absolute(link: re.Match[str]) -> str:
        kind = "raw" if link[1].endswith(PICTURES) else "blob"
        return f"]({address}/{kind}/HEAD/{link[1]})"

    return LINK.sub(absolute, markdown) if address else markdown


class ReadmeHook(MetadataHookInterface):
    """Gives hatchling the field ``readme``, and links to changelog and issues."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Change the table ``[project]``; hatchling calls this."""
        readme = Path(self.root, "README.md").read_text(encoding="utf-8")
        urls = metadata.get("urls", {})
        if address := urls.get("Repository", "").rstrip("/"):
            more = {"Changelog": f"{address}/blob/HEAD/CHANGELOG.md", "Issues": f"{address}/issues"}
            metadata["urls"] = more | urls
        text = with_absolute_links(readme, address)
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
