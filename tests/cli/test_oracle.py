"""The search of oracle scores on the command line."""

from pathlib import Path

import pytest

from quincunx_env.cli import main
from quincunx_env.oracle import OracleEntry, beam_search, benchmark_game, read, write
from quincunx_env.oracle.store import LOST_SCORE
from tests.cli.conftest import Command


def test_the_command_resumes_where_it_was_interrupted(quincunx: Command, folder: Path) -> None:
    pytest.importorskip("tyro")
    path, command = folder / "oracle.csv", "oracle --path oracle.csv --deals 4"
    line = beam_search(benchmark_game(1), 2000)
    assert line is not None
    write(path, [OracleEntry(1, line.score, 2000, line.plays)])
    assert "4 deals, beams of at least 100" in quincunx(f"{command} --width 100 --processes 2")
    first = read(path)
    assert sorted(first) == [0, 1, 2, 3]
    assert first[1].score == line.score, "a wider beam has searched this deal"
    assert [one.width for one in first.values()] == [100, 2000, 100, 100]
    quincunx(f"{command} --width 100")
    assert read(path) == first
    quincunx(f"{command} --width 10")
    assert read(path) == first
    quincunx(f"{command} --width 1000")
    wider = read(path)
    assert [one.width for one in wider.values()] == [1000, 2000, 1000, 1000]
    assert all(one.score >= first[number].score for number, one in wider.items())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--deals -3", "--deals must be at least 1, got -3"),
        ("--width 0", "--width must be at least 1, got 0"),
        ("--processes 0", "--processes must be at least 1, got 0"),
        ("--path .", "--path must be a file, got the folder ."),
        ("--path file/below.csv", "file is a file: choose another folder for the results with --path"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_a_wrong_option_is_named_in_one_line(options: str, message: str, quincunx: Command) -> None:
    pytest.importorskip("tyro")
    Path("file").touch()
    assert quincunx.error(f"oracle --path new.csv {options}") == message
    assert [*Path().iterdir()] == [Path("file")]


def test_commands_that_run_at_the_same_time_keep_the_better_entries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tyro")
    from quincunx_env.cli import oracle as program

    path, plays = tmp_path / "oracle.csv", ((1, 2),)
    ours = {number: OracleEntry(number, 100, 10, plays) for number in range(3)}
    theirs = [OracleEntry(0, 200, 5, plays), OracleEntry(1, 50, 20, plays), OracleEntry(2, LOST_SCORE, 20, ())]
    other = OracleEntry(7, 70, 10, plays)

    def improve_while_another_command_ends(number: int, width: int, known: OracleEntry | None) -> OracleEntry:
        if number == 2:
            write(path, [*theirs, other])
        return ours[number]

    monkeypatch.setattr(program, "improve", improve_while_another_command_ends)
    main(["oracle", "--path", str(path), "--deals", "3", "--width", "10"])
    kept = [theirs[0]._replace(width=10), ours[1]._replace(width=20), ours[2]._replace(width=20), other]
    assert [*read(path).values()] == kept


def test_only_in_a_checkout_the_default_file_is_that_of_the_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Elsewhere it begins with the rows of the package."""
    pytest.importorskip("tyro")
    from quincunx_env.cli import oracle as program

    package_file = tmp_path / "quincunx_env" / "oracle" / "benchmark.csv"
    elsewhere = program.default_path(package_file)
    assert elsewhere == Path("runs/oracle.csv")
    (tmp_path / "pyproject.toml").touch()
    assert program.default_path(package_file) == package_file

    def improve(number: int, width: int, known: OracleEntry | None) -> OracleEntry:
        assert known == read()[number]
        return known._replace(width=width)

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(program, "DEFAULT_PATH", elsewhere)
    monkeypatch.setattr(program, "improve", improve)
    main(["oracle", "--path", str(elsewhere), "--deals", "1", "--width", "1000000"])
    assert read(elsewhere) == read() | {0: read()[0]._replace(width=1_000_000)}
