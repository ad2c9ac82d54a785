"""The command ``quincunx``."""

import os
import re
import signal
import subprocess
import sys
from importlib.metadata import EntryPoint, PackageNotFoundError
from pathlib import Path

import gymnasium
import pytest

import quincunx_env
from quincunx_env import cli as command
from quincunx_env.arena.benchmark import TASKS, baselines, evaluate_on_task, read_results
from quincunx_env.arena.games import Games
from quincunx_env.arena.generalisation import evaluate_generalisation
from quincunx_env.cli import overview
from quincunx_env.policies import registered_policies
from tests.cli.conftest import Command
from tests.test_imports import HEAVY

RECORDS = Path(__file__).parents[1] / "golden" / "records"


def overview_text(quincunx: Command) -> str:
    """All that ``quincunx --all`` prints."""
    text = quincunx("--all")
    assert all(len(line) <= 80 for line in text.splitlines())
    return text


def test_the_command_finds_policies_in_the_current_folder(tmp_path: Path) -> None:
    pytest.importorskip("tyro")
    (tmp_path / "my_module.py").write_text("from quincunx_agents.greedy import greedy as policy\n")
    command = [str(Path(sys.executable).with_name("quincunx")), "evaluate", "mine=my_module:policy", "--deals", "4"]
    done = subprocess.run([*command, "--workers", "2"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "| mine |" in done.stdout, done.stderr


def test_the_overview(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        overview,
        "requires",
        lambda package: [
            "numpy>=2.0",
            'numpy; extra == "arena"',
            "numpy; extra == 'play'",
            "none-such; extra == 'play'",
        ],
    )
    text = overview_text(quincunx)
    assert all(name in text for name in gymnasium.registry if name.startswith("Quincunx/"))
    assert all(name in text for name in registered_policies())
    assert "  arena     installed\n" in text
    assert '  play      missing none-such: pip install "quincunx_env[play]"\n' in text
    assert all(hasattr(quincunx_env, name) for name in re.findall(r"quincunx_env\.(\w+)[.(]", text))


@pytest.mark.parametrize("library", ["numpy", "none-such"])
def test_the_overview_without_arguments_is_what_a_user_needs(
    library: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    extras = ("arena", "dev", "play", "render", "sb3", "train")
    monkeypatch.setattr(overview, "requires", lambda package: [f"{library}; extra == '{extra}'" for extra in extras])
    text = quincunx()
    lines = text.splitlines()
    assert len(lines) <= 38
    assert max(map(len, lines)) <= 80
    assert all(name in text for name in gymnasium.registry if name.startswith("Quincunx/"))
    rows = re.findall(r"^  ([\w-]+) +[\d.]+", text, re.MULTILINE)
    assert rows == ["search", "value", "monte-carlo", "heuristic", "greedy", "uniform"], "strongest"
    assert all(hasattr(quincunx_env, name) for name in re.findall(r"quincunx_env\.(\w+)[.(]", text))
    result = baselines()["solitaire", "value"].score.value
    assert re.search(rf"^  value +{result:.1f} +\d+\.\d% +[1-9][\d.]*$", text, re.MULTILINE)
    for extra in extras:
        state = "installed" if library == "numpy" else f'missing: pip install "quincunx_env[{extra}]"'
        assert bool(re.search(rf"^  {extra} .*: {re.escape(state)}$", text, re.MULTILINE)) == (extra != "dev")
    assert command.COMMANDS.keys() <= {*re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)}


def test_agents_of_other_packages_are_listed_without_being_imported(
    quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An entry point that cannot be loaded does no harm."""
    broken = EntryPoint("broken", "no_such_package.module:policy", "quincunx_env.policies")
    monkeypatch.setattr(overview, "registered_policies", lambda: registered_policies() | {"broken": broken})
    text = overview_text(quincunx)
    assert "  no_such_package: broken\n" in text
    assert "\n  no_such_package: broken\n" in quincunx()


def test_an_unknown_command_names_the_nearest_and_all(quincunx: Command) -> None:
    known = f"the commands are {', '.join(command.COMMANDS)}"
    assert quincunx.error("evalaute greedy") == f"quincunx has no command 'evalaute': did you mean 'evaluate'? {known}"
    assert quincunx.error("bridge") == f"quincunx has no command 'bridge': {known}"
    assert quincunx.error("--nonsense") == f"quincunx has no option '--nonsense': {known}"


def test_the_page_completes_all_commands() -> None:
    page = (Path(__file__).parents[2] / "docs/install.md").read_text(encoding="utf-8")
    assert f'complete -o default -W "{" ".join(command.COMMANDS)}" quincunx\n' in page


def test_options_of_the_command_itself(quincunx: Command) -> None:
    assert quincunx("--version") == f"quincunx_env {quincunx_env.__version__}\n"
    text = quincunx("-h")
    assert quincunx("--help") == text
    assert text.startswith("usage: quincunx [-h] [--version] [--all] [command] ...\n")
    for name, each in command.COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(each.summary)}$", text, re.MULTILINE)


def test_the_overview_without_an_installation(quincunx: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def requires(package: str) -> list[str]:
        raise PackageNotFoundError(package)

    monkeypatch.setattr(overview, "requires", requires)
    monkeypatch.setattr(overview, "registered_policies", dict)
    text = overview_text(quincunx)
    for each in (text, quincunx()):
        assert '"module:attribute"' in each
        assert "the package is not installed: pip install ." in each


@pytest.mark.parametrize(("number", "word"), [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated")])
@pytest.mark.usefixtures("folder")
def test_a_message_repeats_the_command(
    number: signal.Signals, word: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also the line that resumes an interrupted run."""
    pytest.importorskip("tyro")
    Path("a  b").mkdir()
    Path("a  b/stored.npz").touch()
    monkeypatch.setattr(Path, "write_bytes", lambda *_: os.kill(os.getpid(), number))
    line = "tournament greedy uniform --deals 4 --workers 1 --out 'a  b'"
    error = f"{word}; finished games are stored, this resumes: quincunx {line}\n"
    assert quincunx.end(line) == (128 + number, "", error)


def test_what_needs_no_extra() -> None:
    """In a fresh interpreter: help and the overview import none of these libraries."""
    program = f"""
import sys
sys.modules.update(dict.fromkeys({sorted(HEAVY)!r}))
from quincunx_env.cli import main
for arguments in (["--help"], ["--version"], ["--all"], []):
    main(arguments)
main(["evaluate", "greedy"])
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert run.stdout.endswith("All extras: quincunx --all\n"), run.stderr
    assert (run.returncode, run.stderr.count("\n")) == (2, 1)
    assert run.stderr.endswith('pip install "quincunx_env[arena]"\n')


@pytest.mark.parametrize("name", sorted(command.COMMANDS))
def test_commands_without_their_libraries_say_how_to_get_them(
    name: str, quincunx: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tyro", None)
    for module in {"options", command.COMMANDS[name].module} & vars(command).keys():
        monkeypatch.setattr(command, module, getattr(command, module))  # is put back with the entry of sys.modules
        monkeypatch.delitem(sys.modules, f"quincunx_env.cli.{module}")
    extra = "play" if name in ("play", "replay") else "arena"
    error = f'quincunx {name} needs tyro: pip install "quincunx_env[{extra}]"'
    assert quincunx.error([name, "--help"]) == error


@pytest.mark.parametrize("name", sorted(command.COMMANDS))
def test_the_help_is_plain_text(name: str, quincunx: Command) -> None:
    """It has no markup and no default that says nothing."""
    pytest.importorskip("tyro")
    status, text, error = quincunx.end([name, "--help"])
    assert (status, error) == (0, "")
    assert not re.findall(r"``|None|\(default: (?:'')?\)|\.games\b", text)


def test_the_help_has_no_option_that_is_always_refused(quincunx: Command) -> None:
    pytest.importorskip("tyro")
    options = {name: {*re.findall(r"--([a-z-]+)", quincunx.end([name, "--help"])[1])} for name in command.COMMANDS}
    assert not options["evaluate"] & {"num-players", "start", "match", "simpleton"}
    assert options["compare"] >= {"num-players", "start", "match", "simpleton"}
    assert "edge-contact" in options["evaluate"] - options["compare"] - options["tournament"]


def test_the_tasks_of_the_benchmark_are_listed(quincunx: Command) -> None:
    pytest.importorskip("tyro")
    text = quincunx("benchmark")
    for name, task in TASKS.items():
        final, reference = task.final, re.escape(task.reference)
        deals = f"final: +{final.domain} {final.first} to {final.last}"
        assert re.search(rf"^  {name} .*; reference {reference}\n.*\n +{deals}\n +search: ", text, re.MULTILINE)
    assert "  3-corners  quincunx, num_players=3; win rate; reference heuristic\n" in text
    assert max(map(len, text.splitlines())) <= 80
    assert "  seats\n             training: 2-corners, 2-open\n             test: 3-corners, 3-open, " in text


@pytest.mark.parametrize(("task", "unit"), [("solitaire", "mean score"), ("2-open", "win rate")])
@pytest.mark.usefixtures("folder")
def test_policies_are_evaluated_on_a_task_of_the_benchmark(task: str, unit: str, quincunx: Command) -> None:
    pytest.importorskip("tyro")
    text = quincunx(f"benchmark {task} greedy mine=uniform --deals 4 --workers 1")
    heading, _, *rows, empty, note = text.splitlines()
    assert heading.startswith(f"| policy | deals | {unit} | 95 % interval | ")
    expected = evaluate_on_task(task, "greedy", deals=4)
    assert rows[0].startswith("| greedy | 4 | ")
    assert rows[0].endswith(" | ".join(["", *expected.normalised.cells(".3f"), ""]).rstrip())
    assert rows[1].startswith("| mine | 4 | ")
    assert (len(rows), empty) == (2, "")
    assert note == f"*Task {task} v0, benchmark 100000 to 100003; intervals by Student's t, over deals.*"
    stored = {each.policy: each for each in read_results(Path("runs/benchmark/results.csv"))}
    assert stored.keys() == {"greedy", "mine"}
    assert stored["greedy"].score.value == pytest.approx(expected.score.value, abs=1e-5)
    quincunx(f"benchmark {task} greedy --deals 4 --workers 1 --records mine.npz")
    assert quincunx("verify mine.npz").startswith("mine.npz: greedy")
    assert Games.read(Path("mine.npz")).config.deals.first == 100_000


@pytest.mark.usefixtures("folder")
def test_policies_are_evaluated_on_a_task_of_generalisation(quincunx: Command) -> None:
    pytest.importorskip("tyro")
    text = quincunx("benchmark rules-never-met greedy mine=uniform --split validation --deals 4 --workers 1")
    expected = evaluate_generalisation("rules-never-met", "greedy", split="validation", deals=4)
    means, by_rules, note = text.split("\n\n")
    cells = (*expected.score.cells(".3f"), *expected.training.cells(".3f"), *expected.gap.cells("+.3f"))
    assert means.splitlines()[2] == " | ".join(["| greedy", *cells]) + " |"
    lines = by_rules.splitlines()
    assert lines[0] == "| rules | in | greedy | mine |"
    for line, (name, result) in zip(lines[2:], expected.results.items(), strict=True):
        part = "training" if name in ("solitaire", "solitaire+pawns") else "test"
        assert line.startswith(f"| {name} | {part} | {result.normalised.cells('.3f')[0]} | ")
    assert note.startswith("*Task rules-never-met v0, normalised scores, validation 0 to 3 under each rules.*")
    stored = read_results(Path("runs/benchmark/results.csv"))
    assert {(each.task.name, each.policy) for each in stored} == {
        (name, policy) for name in expected.results for policy in ("greedy", "mine")
    }


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ("bridge greedy", "unknown task 'bridge'; the tasks are solitaire, "),
        ("solitaire", "there is nothing to play: name a policy"),
        ("solitaire greedy --deals 20000", "solitaire has 10000 final deals, got 20000"),
        ("solitaire greedy --deals 4 --out file", "file is a file: choose another folder"),
        ("solitaire greedy uniform --records new", "--records is for one policy and the rules of one task at a time"),
        ("seats greedy --records new", "--records is for one policy and the rules of one task at a time"),
    ],
)
def test_errors_of_the_benchmark(arguments: str, complaint: str, quincunx: Command, folder: Path) -> None:
    pytest.importorskip("tyro")
    Path("file").touch()
    assert quincunx.error(f"benchmark {arguments}").removeprefix(f"{folder}/").startswith(complaint)
    assert [path.name for path in folder.iterdir()] == ["file"]


def test_a_reader_may_leave_before_the_end() -> None:
    """As ``head`` does: nothing is said about the closed pipe, also where other errors of files are reported."""
    program = [sys.executable, "-m", "quincunx_env", "replay", str(RECORDS / "open.txt"), "--positions"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as run:
        assert run.stdout is not None
        run.stdout.close()
        assert run.communicate()[1] == b""
        assert run.returncode == 1
