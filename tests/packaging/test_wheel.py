"""The wheel and the sdist work in empty environments, outside any checkout: ``.ci/run wheel``.

The wheel is installed with the extras ``arena`` and ``play``; the commands of the README then run in another folder.
The sdist is installed without extras.
"""

import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

from quincunx_agents.networks.value import shipped
from quincunx_env.policies import registered_policies

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.wheel

ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
"""Nothing that could lead back to the checkout."""

TOOLS = ROOT / ".venv-tools" / "bin" / "python"
"""Made by ``.ci/run wheel``: it has hatchling."""


def distribution(pattern: str) -> Path:
    """The file that ``.ci/run wheel`` has built."""
    found = [*(ROOT / "dist").glob(pattern)]
    assert len(found) == 1, "run these tests by `.ci/run wheel`, which builds wheel and sdist"
    return found[0]


def site_packages(python: Path | str) -> Path:
    """The folder in which an environment has its packages."""
    program = "import sysconfig; print(sysconfig.get_path('purelib'))"
    run = subprocess.run([python, "-c", program], env=ENVIRONMENT, capture_output=True, text=True, check=True)
    return Path(run.stdout.strip())


class Installed:
    """An environment of its own with the wheel or the sdist in it."""

    def __init__(self, folder: Path, pattern: str = "*.whl", extras: str = "[arena,play]") -> None:
        self.folder = folder
        self.wheel = distribution(pattern)
        venv.create(folder / "venv", with_pip=True)
        self.python = folder / "venv" / "bin" / "python"
        wanted = [f"{self.wheel}{extras}", "--constraint", str(ROOT / "constraints" / "default.txt")]
        subprocess.run([self.python, "-m", "pip", "install", "--quiet", *wanted], check=True, env=ENVIRONMENT)

    def run(self, *arguments: str) -> str:
        """What Python prints for these arguments, in a folder far from the checkout.

        Raises:
            AssertionError: if it fails, with all that it printed.
        """
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        command = [str(self.python), "-W", "error", *arguments]
        done = subprocess.run(command, cwd=elsewhere, env=ENVIRONMENT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The wheel in an empty environment."""
    return Installed(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def from_sdist(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """The sdist without extras in an empty environment."""
    return Installed(tmp_path_factory.mktemp("sdist"), "*.tar.gz", extras="")


def test_the_sdist_alone_is_the_environments(from_sdist: Installed) -> None:
    program = """
import gymnasium, quincunx_env
for name, options in ("Quincunx/Solitaire-v0", {}), ("Quincunx/VsOpponents-v0", {"opponents": "greedy"}):
    env = gymnasium.make(name, **options)
    observation, info = env.reset(seed=0)
    env.step(env.action_space.sample(mask=info["action_mask"]))
env = quincunx_env.quincunx_v0.env()
env.reset(seed=0)
print(env.num_agents)
"""
    assert from_sdist.run("-c", program).split() == ["2"]
    assert "heuristic" in from_sdist.run("-m", "quincunx_env")


def test_importing_takes_hardly_longer_than_its_libraries(from_sdist: Installed) -> None:
    """Processor time of alternating fresh processes; a noisy machine is measured for longer."""
    seconds: dict[str, list[float]] = {"gymnasium, pettingzoo": [], "quincunx_env": []}
    for _ in range(4):
        for _ in range(9):
            for modules, measured in seconds.items():
                program = f"import {modules}, time; print(time.process_time())"
                measured.append(float(from_sdist.run("-c", program)))
        libraries, package = map(statistics.median, seconds.values())
        if package <= 1.15 * libraries:
            return
    pytest.fail(f"importing takes {package:.3f} s, its libraries alone {libraries:.3f} s")


@pytest.mark.parametrize("address", ["", "https://example.org/someone/quincunx_env"])
def test_links_of_the_readme_are_absolute_once_there_is_an_address(address: str, tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE", "hatch_build.py", "quincunx_env/__init__.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    pyproject = tmp_path / "pyproject.toml"
    urls = f'[project.urls]\nRepository = "{address}"\n' if address else "[project.urls]\n"
    table = re.compile(r"^\[project\.urls\]\n(?:.+\n)*", re.MULTILINE)
    pyproject.write_text(table.sub(urls, pyproject.read_text(encoding="utf-8")), encoding="utf-8")
    program = """
import json
from hatchling.metadata.core import ProjectMetadata
from hatchling.plugin.manager import PluginManager
core = ProjectMetadata(".", PluginManager()).core
print(json.dumps([core.readme, core.urls]))
"""
    built = subprocess.run(
        [TOOLS, "-c", program], cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, check=True
    )
    readme, found = json.loads(built.stdout)
    original = (ROOT / "README.md").read_text(encoding="utf-8")
    if not address:
        assert (readme, found) == (original, {})
        return
    assert found.pop("Repository") == address
    assert found == {"Changelog": f"{address}/blob/HEAD/CHANGELOG.md", "Issues": f"{address}/issues"}
    assert f"]({address}/raw/HEAD/docs/solitaire.webp)" in readme
    assert f"]({address}/blob/HEAD/RULES.md)" in readme
    assert "](http://www.decktet.com)" in readme
    assert "](docs/" not in readme
    assert readme.replace(f"{address}/raw/HEAD/", "").replace(f"{address}/blob/HEAD/", "") == original


def test_what_the_wheel_holds(installed: Installed) -> None:
    names = zipfile.ZipFile(installed.wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"quincunx_env", "quincunx_agents"}
    weights = {Path(name).name for name in names if name.endswith(".safetensors")}
    assert weights == {f"{network}.safetensors" for network in shipped()}
    typed = {"quincunx_env/py.typed", "quincunx_env/__init__.pyi", "quincunx_agents/py.typed"}
    assert {*typed, "quincunx_env/arena/benchmark.csv"} <= {*names}
    for module in ("quincunx_env", "quincunx_agents"):
        where = installed.run("-c", f"import {module}; print({module}.__file__)")
        assert where.startswith(str(installed.folder))


def test_every_registered_policy_can_be_resolved(installed: Installed) -> None:
    program = "from quincunx_env.policies import *; print(*(resolve(name) and name for name in registered_policies()))"
    assert installed.run("-c", program).split() == [*registered_policies()]


def test_the_installed_command_runs(installed: Installed, tmp_path: Path) -> None:
    """Also with worker processes, which import the script again."""

    def run(*arguments: str) -> str:
        done = subprocess.run(
            [installed.python.with_name("quincunx"), *arguments],
            cwd=tmp_path, env=ENVIRONMENT, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run() == installed.run("-m", "quincunx_env")
    assert "Quincunx/Solitaire-v0" in run()
    table = run("evaluate", "value", "greedy", "--deals", "20", "--chunk", "10", "--workers", "2")
    assert "*`quincunx evaluate value greedy --deals 20 --chunk 10 --workers 2`: " in table
    means = {row.split(" | ")[0].strip("| "): row.split(" | ")[2] for row in table.splitlines() if " | 20 | " in row}
    assert float(means["value"]) > float(means["greedy"])


def test_the_quick_start_runs_as_written(installed: Installed) -> None:
    """The script of the quick start, shortened by its own flags, in an environment whose packages are the wheel's own.

    PyTorch and stable-baselines3, the extra ``sb3``, are taken from the environment of the tests.
    """
    pytest.importorskip("sb3_contrib")
    page = (ROOT / "docs" / "quick_start.md").read_text(encoding="utf-8")
    [script] = re.findall(r"```python\n(\"\"\".*?)```", page, re.DOTALL)
    folder = installed.folder / "quick_start"
    venv.create(folder / "venv")
    python = folder / "venv" / "bin" / "python"
    others = [f"{site_packages(each)}\n" for each in (installed.python, sys.executable)]
    (site_packages(python) / "others.pth").write_text("".join(others))
    (folder / "quick_start.py").write_text(script)

    def run(*arguments: str) -> str:
        done = subprocess.run([python, *arguments], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    assert run("-c", "import quincunx_env; print(quincunx_env.__file__)").startswith(str(installed.folder))
    printed = run("quick_start.py", "--steps", "1", "--deals", "20").splitlines()
    rows = [line.strip("| ").split(" | ") for line in printed if line.startswith("|")]
    assert {*folder.glob("*.csv"), *folder.glob("*.png")} == {
        folder / f"learning_curve.{each}" for each in ("csv", "png")
    }
    assert (folder / "heat_map.svg").read_text(encoding="utf-8").startswith("<svg")
    assert [row[:2] for row in rows[2:]] == [[name, "20"] for name in ("uniform", "greedy", "heuristic", "mine")]
    assert float(rows[-1][2]) > float(rows[2][2]), "an update is enough to play better than at random"
    again = run("-m", "quincunx_env", "evaluate", "mine=model.zip", "--deals", "20", "--workers", "1", "--trust")
    assert f"| mine | 20 | {rows[-1][2]} |" in again, "the saved model is the agent that was evaluated"
