"""Tables in Markdown."""

import re
from collections.abc import Iterable, Sequence


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    r"""Build a table, without a line break at its end.

    Args:
        header: titles of the columns; empty for none, which Markdown shows as an empty line.
        rows: cells, which are printed as ``str`` does. A ``|`` in a cell is escaped.

    >>> print(markdown_table(("policy", "mean"), [("greedy", 14.7), ("a|b", 8.2)]))
    | policy | mean |
    |---|---|
    | greedy | 14.7 |
    | a\|b | 8.2 |
    """
    cells = [[re.sub(r"(?<!\\)\|", r"\|", str(cell)) for cell in row] for row in (header, *rows)]
    columns = max(map(len, cells[:2]))
    lines = [f"| {' | '.join(row)} |" for row in cells]
    if not header:
        lines[0] = "| " * columns + "|"
    return "\n".join([lines[0], "|---" * columns + "|", *lines[1:]])


def escaped(name: str) -> str:
    r"""Escape what Markdown would take for markup. An underscore between letters is plain.

    >>> print(escaped("_old_ my_net <b> $x$"))
    \_old\_ my_net \<b> \$x\$
    """
    return re.sub(r"[*`~$<\[&]|\\(?=[^\w\s])|(?<![^\W_])_|_(?![^\W_])", r"\\\g<0>", name)
