"""Today's deal: a solitaire with the date in UTC as its seed.

>>> str(day_of(Record(RULES, deal_of(date(2026, 1, 31)))))
'2026-01-31'
"""

from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta
from importlib.metadata import PackageNotFoundError, metadata

from quincunx_env.notation.record import HUMAN, Record, Seeded
from quincunx_env.registry import solitaire_of

RULES = solitaire_of().rules
"""The rules of today's deal."""

FIRST = date(2025, 1, 1)
"""The first day that has a deal."""

_SQUARES = {"dealt": "\N{BLACK LARGE SQUARE}", "none": "\N{WHITE LARGE SQUARE}", "loss": "\N{LARGE RED SQUARE}"}
_SQUARES |= {"gain": "\N{LARGE GREEN SQUARE}", "line": "\N{LARGE PURPLE SQUARE}"}

_LINE = 20
"""Least points of a play that is shared as one with a line: the bonus of a straight."""


def today() -> date:
    """Return the date in UTC, which is one for everybody."""
    return datetime.now(UTC).date()


def deal_of(day: date) -> Seeded:
    """Return the seed of a day's deal: the date, such as 20260131."""
    return Seeded(int(f"{day:%Y%m%d}"))


def day_of(record: Record) -> date | None:
    """Return the day whose deal a game is; None for other games."""
    if record.rules != RULES or not isinstance(record.dealt, Seeded) or record.seats not in ((), (HUMAN,)):
        return None
    try:
        day = datetime.strptime(f"{record.dealt.seed:08}", "%Y%m%d").date()  # a date has no time zone
    except ValueError:
        return None
    return day if FIRST <= day <= today() and record.dealt == deal_of(day) else None


def streak(days: Collection[date]) -> int:
    """Count the days in a row up to today or yesterday."""
    last = today() if today() in days else today() - timedelta(days=1)
    length = 0
    while last - timedelta(days=length) in days:
        length += 1
    return length


def page_of(seed: int, beat: int) -> str:
    """Return the address of a deal with points to beat.

    It lies on the site that the metadata of the package name as its documentation; empty if they name none.
    """
    urls: list[str] = []
    with suppress(PackageNotFoundError):
        urls = metadata("quincunx_env").get_all("Project-URL", [])
    site = next((address for name, _, address in (url.partition(", ") for url in urls) if name == "Documentation"), "")
    return f"{site.rstrip('/')}/_static/game.html#deal={seed}&beat={beat}" if site else ""


def shared(record: Record, headline: str, streak: int, reached: str = "") -> str:
    """Return the result of a day's deal as a text to share.

    It shows no cards. ``reached`` is a sentence on the adviser's points. A link leads to the deal; see `page_of`.
    """
    day = day_of(record)
    squares = [_SQUARES["dealt" if card >= 0 else "none"] for card in record.game(0).board[: RULES.num_cells]]
    for turn in record.turns:
        points = turn.gains[0] + turn.penalties[0]
        kind = "line" if points >= _LINE else "gain" if points > 0 else "loss" if points < 0 else "none"
        squares[turn.action % RULES.num_cells] = _SQUARES[kind]
    side = RULES.setup.side
    rows = ["".join(squares[start : start + side]) for start in range(0, len(squares), side)]
    days = [f"{streak} days in a row"] * (streak > 1)
    title, result = f"Quincunx, deal of {day:%d %b %Y}", headline.removeprefix("You score ")
    link = page_of(record.dealt.seed, record.game().totals[0]) if isinstance(record.dealt, Seeded) else ""
    return "\n".join(filter(None, [title, result, reached, *rows, *days, link]))
