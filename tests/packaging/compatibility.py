"""A sample of the tests in random order, on several Pythons and with the lowest versions: ``.ci/run compat``.

    .ci/run compat                              # every other Python found, and the lowest versions on the oldest one
    .ci/run compat 3.13 lowest                  # some of these environments
    PYTHONS="python3.14 /opt/py" .ci/run compat # on given Pythons

The environments hold the core and the extras arena, play and render, without PyTorch: the other extras need it. Pythons
are found on the path and among the versions of pyenv; `make test` has tested its own. This program needs no other
library than uv, which installs.
"""

import os
import subprocess
import sys
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from shutil import which

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / ".venv-compat"
CONSTRAINTS = "constraints/default.txt"
LOWEST = "lowest"
OWN = "{}.{}".format(*sys.version_info)
"""Version of this Python, on which all tests run with the same libraries."""
TESTS = (
    *("tests", "quincunx_env", "--at-most", "1", "-q", "--tb", "short", "-p", "no:cacheprovider"),
    *("--ignore", "tests/docs", "--ignore", "tests/fuzz", "--ignore", "tests/packaging"),
    *("--ignore", "tests/agents/test_ties.py"),  # long, and of results rather than of libraries
)
"""One set of parameters of each test: what fails with another version seldom depends on the variant of a game."""


def version_of(python: str | Path) -> tuple[int, ...]:
    """Major and minor version; empty if the program does not run, like a shim of pyenv for an inactive version."""
    program = "import sys; print(*sys.version_info[:2])"
    run = subprocess.run([python, "-c", program], capture_output=True, text=True)
    return tuple(map(int, run.stdout.split())) if run.returncode == 0 else ()


def find_pythons() -> dict[str, str]:
    """Paths of interpreters by version, the oldest first."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = tuple(map(int, project["requires-python"].removeprefix(">=").split(".")))
    if given := os.environ.get("PYTHONS", "").split():
        candidates = [path for name in given if (path := which(name))]
    else:
        pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
        named = [which(f"python3.{minor}") for minor in range(oldest[1], oldest[1] + 10)]
        candidates = [sys.executable, *filter(None, named), *map(str, sorted(pyenv.glob("3.*/bin/python")))]
    found: dict[tuple[int, ...], str] = {}
    for path in candidates:
        version = version_of(path)
        if version >= oldest:
            found.setdefault(version, path)
    return {".".join(map(str, version)): found[version] for version in sorted(found)}


def make(name: str, python: str) -> Path:
    """Make an environment, unless it is newer than the files that describe it, and return its interpreter."""
    folder = FOLDER / name
    made = folder / "bin" / "python"
    ready = folder / ".ready"
    described = max((ROOT / file).stat().st_mtime for file in ("pyproject.toml", CONSTRAINTS))
    if not (ready.exists() and ready.stat().st_mtime > described):
        uv = str(Path(sys.executable).with_name("uv"))
        versions = ("--resolution", "lowest-direct") if name == LOWEST else ("--constraint", CONSTRAINTS)
        install = [uv, "pip", "install", "--quiet", "--python", str(made), "--editable", ".[test]", *versions]
        install += ["pytest-randomly>=5"]  # shuffles the tests
        for command in ([uv, "venv", "--quiet", "--clear", "--python", python, str(folder)], install):
            subprocess.run(command, cwd=ROOT, check=True)
        ready.touch()
    return made


def run(name: str, python: str) -> bool:
    """Run the tests in an environment, print what they print at the end, and return whether they pass."""
    start = time.monotonic()
    command = [str(make(name, python)), "-m", "pytest", *TESTS]
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    tests = subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = tests.stdout.decode(errors="replace").splitlines()
    shown = "\n".join(lines if tests.returncode else lines[-1:])
    print(f"{name} ({python}), {time.monotonic() - start:.0f} s: {shown}", flush=True)
    return tests.returncode == 0


def main(names: list[str]) -> int:
    """Run the named environments, or all of them, as many at a time as there are processors."""
    pythons = find_pythons()
    environments = pythons | {LOWEST: next(iter(pythons.values()), "")}
    if unknown := {*names} - {*environments} or not pythons:
        print(f"error: no Python for {unknown}; found: {pythons}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(getattr(os, "process_cpu_count", os.cpu_count)()) as pool:
        chosen = names or [name for name in environments if name != OWN]
        return not all([*pool.map(run, chosen, map(environments.__getitem__, chosen))])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
