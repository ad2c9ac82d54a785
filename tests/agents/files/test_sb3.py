"""Models that stable-baselines3 and sb3-contrib saved: they play as in memory, and are loaded with trust only."""

import base64
import json
import pickle
import re
import zipfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TimeLimit, TransformObservation

torch = pytest.importorskip("torch")
pytest.importorskip("sb3_contrib")

from sb3_contrib import MaskablePPO  # noqa: E402
from stable_baselines3 import A2C, DQN, PPO  # noqa: E402
from stable_baselines3.common.torch_layers import FlattenExtractor  # noqa: E402
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize  # noqa: E402

from quincunx_agents.torch import QuincunxMaskablePolicy  # noqa: E402
from quincunx_env import spiral  # noqa: E402
from quincunx_env.adapters.sb3 import GamesVecEnv, SolitaireVecEnv, VsOpponentsVecEnv, save  # noqa: E402
from quincunx_env.arena import compare, evaluate, explain  # noqa: E402
from quincunx_env.cli import main  # noqa: E402
from quincunx_env.cli.play import Arguments  # noqa: E402
from quincunx_env.core.observation import Pieces  # noqa: E402
from quincunx_env.envs.solitaire import SolitaireEnv  # noqa: E402
from quincunx_env.play.web.tables import Games  # noqa: E402
from quincunx_env.policies import PolicyFile, PolicyFileError, UntrustedFileError, files  # noqa: E402
from quincunx_env.quincunx.rules import Rules  # noqa: E402
from quincunx_env.registry import make_observer  # noqa: E402
from tests.policies.test_files import one_line  # noqa: E402
from tests.variants import new_game  # noqa: E402

SMALL: dict[str, Any] = {"device": "cpu", "seed": 3}
LAYERS = {"net_arch": [8, 8]}


class Scaled(FlattenExtractor):
    """A features extractor of a user."""

    def forward(self, observations: Any) -> Any:
        """Divide by ten."""
        return super().forward(observations) / 10


def make(kind: str, **options: Any) -> tuple[Any, GamesVecEnv]:
    """A model with random weights, and its environment."""
    options |= {"actions": "hand"} if kind == "own" else {}
    alone, rows = not {"num_players", "game"} & options.keys(), len(options.get("rules", [None]))
    env = SolitaireVecEnv(rows, **options) if alone else VsOpponentsVecEnv(rows, opponents="uniform", **options)
    policy: Any = "MlpPolicy" if isinstance(env.observation_space, gymnasium.spaces.Box) else "MultiInputPolicy"
    model: Any
    if kind == "DQN":
        model = DQN(policy, env, buffer_size=1, policy_kwargs=LAYERS, **SMALL)
    elif kind == "A2C":
        model = A2C(policy, env, n_steps=2, policy_kwargs={**LAYERS, "activation_fn": torch.nn.GELU}, **SMALL)
    elif kind == "PPO":
        model = PPO(
            policy, env, n_steps=2, batch_size=2, policy_kwargs={"net_arch": {"pi": [8], "vf": [4, 4]}}, **SMALL
        )
    else:
        own = {"observer": env.envs.observer, "width": 8}
        policy, arguments = (QuincunxMaskablePolicy, own) if kind == "own" else (policy, LAYERS)
        if kind == "scaled":
            arguments = {**LAYERS, "features_extractor_class": Scaled}
        model = MaskablePPO(policy, env, n_steps=2, batch_size=2, policy_kwargs=arguments, **SMALL)
    with torch.no_grad():
        for parameter in model.policy.parameters():
            parameter += 0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(parameter.numel()))
    return model, env


def in_memory(model: Any, env: GamesVecEnv) -> Callable[..., Any]:
    """The policy of a model in its environment, as ``predict`` computes it."""
    codec = env.envs.codec

    def policy(pieces: Pieces, joint: Any, rng: np.random.Generator) -> Any:
        observed, mask = codec.of_pieces(pieces, joint)
        if isinstance(model, MaskablePPO):
            chosen, _ = model.predict(observed, action_masks=mask, deterministic=True)
        else:
            tensors, _ = model.policy.obs_to_tensor(observed)
            with torch.no_grad():
                if isinstance(model, DQN):
                    values = model.policy.q_net(tensors)
                else:
                    values = model.policy.get_distribution(tensors).distribution.logits
            chosen = np.where(mask, values.numpy(), -np.inf).argmax(axis=1)
        return codec.to_joint(chosen, joint)

    policy.preview = codec.preview  # type: ignore[attr-defined]
    return policy


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("MaskablePPO", {"observation": "vector", "preview": True}),
        ("MaskablePPO", {"observation": "vector", "excuse": True, "padded": True}),
        ("MaskablePPO", {"observation": "vector", "preview": True, "actions": "hand"}),
        ("own", {"observation": "vector", "preview": True}),
        ("own", {"observation": "vector", "preview": True, "padded": True}),
        ("scaled", {"observation": "vector"}),
        ("PPO", {"observation": "pieces", "mask_in": "obs"}),
        ("PPO", {"observation": "vector"}),
        ("PPO", {"observation": "vector", "mask_in": "obs", "actions": "hand"}),
        ("DQN", {"observation": "vector", "mask_in": "obs"}),
        ("DQN", {"observation": "vector", "actions": "hand"}),
        ("A2C", {"observation": "pieces", "preview": True}),
    ],
    ids=str,
)
def test_a_saved_model_plays_as_in_memory(kind: str, options: dict[str, Any], tmp_path: Path) -> None:
    model, env = make(kind, **options)
    save(model, tmp_path / "model.zip")
    rules = env.envs.observer.rules
    found = evaluate(PolicyFile(str(tmp_path / "model.zip"), trust=True), 4, rules=rules)
    expected = evaluate(in_memory(model, env), 4, rules=rules)
    assert found.scores.tolist() == expected.scores.tolist()
    assert len(set(found.scores.tolist())) > 1


@pytest.mark.parametrize("kind", ["MaskablePPO", "own", "DQN"])
@pytest.mark.parametrize("padded", [False, True])
def test_a_saved_model_has_values_of_its_actions(kind: str, padded: bool, tmp_path: Path) -> None:
    """Logits or Q-values: of all legal plays, the highest of the play that it chooses."""
    model, _ = make(kind, observation="vector", preview=True, padded=padded)
    save(model, tmp_path / "model.zip")
    rules, game = Rules(), new_game(Rules(), 1)
    policy = PolicyFile(str(tmp_path / "model.zip"), trust=True)
    values, observer = explain(policy, game), make_observer(rules, preview=True)
    mask = observer.mask(game)[None].astype(bool)
    assert (np.isfinite(values).ravel() == mask[0]).all()
    pieces = {name: piece[None] for name, piece in observer.observe(game).items()}
    [chosen] = pickle.loads(pickle.dumps(policy.for_rules(rules)))(pieces, mask, np.random.default_rng(0))
    assert chosen == np.nanargmax(values)


def test_a_saved_model_plays_against_others(tmp_path: Path) -> None:
    rules = Rules(num_players=2)
    model, env = make("MaskablePPO", observation="vector", num_players=2)
    save(model, tmp_path / "model.zip")
    mine = PolicyFile(str(tmp_path / "model.zip"), trust=True)
    found = compare([mine, "greedy"], 3, rules=rules)
    assert (found.totals == compare([in_memory(model, env), "greedy"], 3, rules=rules).totals).all()
    trained = r"it was trained for quincunx\.Rules\(num_players=2\), got "
    with pytest.raises(PolicyFileError, match=trained + r"quincunx\.Rules\(\): play the game that it has learned$"):
        evaluate(mine, 2)
    with pytest.raises(PolicyFileError, match=trained + r"spiral\.Rules\(deals=1\): play"):
        mine.for_rules(spiral.Rules(deals=1))


def test_a_model_in_memory_is_saved_first() -> None:
    model, _ = make("MaskablePPO", observation="vector")
    way_out = r"save the model by .*sb3\.save\(model, 'model\.zip'\), pass PolicyFile\('model\.zip', trust=True\)$"
    with pytest.raises(ValueError, match=way_out):
        evaluate(model, 2)
    with pytest.raises(ValueError, match=r"not a class or a value$"):
        evaluate(MaskablePPO, 2)  # type: ignore[arg-type]


def test_a_padded_model_plays_every_variant(tmp_path: Path) -> None:
    model, _ = make("own", observation="vector", preview=True, padded=True)
    save(model, tmp_path / "model.zip")
    for rules in (Rules(pawns=True), Rules(num_players=3, start="open")):
        assert callable(PolicyFile(str(tmp_path / "model.zip"), trust=True).for_rules(rules))


def test_a_model_of_an_earlier_network_is_refused(tmp_path: Path) -> None:
    """Its actions were joint."""
    model, _ = make("MaskablePPO", observation="vector", preview=True)
    model.policy_class, model.policy_kwargs = QuincunxMaskablePolicy, {"observer": make_observer(Rules(), preview=True)}
    save(model, tmp_path / "model.zip")
    with pytest.raises(PolicyFileError, match=r"^[^\n]*needs Discrete\(160\), got Discrete\(576\)[^\n]*again$"):
        PolicyFile(str(tmp_path / "model.zip"), trust=True).for_rules(Rules())


def test_a_model_of_several_rules_plays_each(tmp_path: Path) -> None:
    rules = [Rules(), Rules(pawns=True)]
    save(make("PPO", observation="vector", rules=rules)[0], tmp_path / "model.zip")
    policy = PolicyFile(str(tmp_path / "model.zip"), trust=True)
    assert all(callable(policy.for_rules(each)) for each in rules)
    assert json.loads((tmp_path / "model.json").read_text())["padded"]


# --- Options of the environment --------------------------------------------------------------------------------------


def test_the_options_lie_beside_the_model(tmp_path: Path) -> None:
    """In wrappers of stable-baselines3 and Gymnasium, too."""
    options: dict[str, Any] = {"observation": "vector", "actions": "hand", "preview": True, "mask_in": "obs"}
    own = {"algorithm": "PPO", "game": "quincunx", "rules": asdict(Rules(flush=True))}
    env = SolitaireEnv(**options, flush=True, illegal="next")
    for each in (env, TimeLimit(env, 99), VecMonitor(DummyVecEnv([lambda: env]))):
        save(PPO("MultiInputPolicy", each, n_steps=2, batch_size=2, **SMALL), tmp_path / "model.zip")
        assert json.loads((tmp_path / "model.json").read_text()) == own | options | {"padded": False}
        assert callable(PolicyFile(str(tmp_path / "model.zip"), trust=True).for_rules(Rules(flush=True)))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model.json", "model.zip"]


def test_options_are_named_for_a_model_of_another_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    model, env = make("A2C", observation="vector", preview=True, actions="hand")
    model.save("model.zip")
    told: dict[str, Any] = {"algorithm": "A2C", "observation": "vector", "preview": True, "actions": "hand"}
    found = evaluate(PolicyFile("model.zip", trust=True, **told), 4)
    assert found.scores.tolist() == evaluate(in_memory(model, env), 4).scores.tolist()
    flags = ["--trust", "--algorithm", "A2C", "--observation", "vector", "--preview", "--actions", "hand"]
    for command in ("evaluate", "benchmark solitaire"):
        main([*command.split(), "mine=model.zip", *flags, "--deals", "4", "--workers", "1", "--out", "out"])
        assert "| mine |" in capfd.readouterr().out
    for command in ("compare", "tournament"):
        words = [command, "mine=model.zip", "uniform", *flags, "--num-players", "2", "--deals", "2", "--out", "out"]
        assert "the game that it has learned" in error_of(capfd, words), "the solitaire"
    save(model, "model.zip")
    wrong = PolicyFile("model.zip", trust=True, observation="vector")
    assert evaluate(wrong, 4).scores.tolist() == found.scores.tolist(), "the file beside the model replaces them"


def error_of(capfd: pytest.CaptureFixture[str], words: list[str]) -> str:
    """The only line on stderr of a command that fails."""
    capfd.readouterr()
    with pytest.raises(SystemExit):
        main(words)
    (line,) = capfd.readouterr().err.splitlines()
    return line


def test_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    MaskablePPO("MlpPolicy", "quincunx_env:Quincunx/SolitaireFlat-v0", n_steps=2, batch_size=2).save("model.zip")
    unknown = "its algorithm or the options of its environment are unknown"
    assert one_line(capfd, "mine=model.zip", "--trust") == (
        f"error: model.zip cannot be used: {unknown}: save it by quincunx_env.adapters.sb3.save(model, 'model.zip'), "
        "which writes model.json, or name them, as in PolicyFile('model.zip', trust=True, algorithm='MaskablePPO', "
        "observation='vector', actions='hand', preview=True) or --algorithm MaskablePPO --observation vector --actions "
        "hand --preview; algorithms are MaskablePPO, PPO, A2C, DQN"
    )
    told: dict[str, Any] = {"algorithm": "MaskablePPO", "observation": "vector"}
    for name in told:
        with pytest.raises(PolicyFileError, match=unknown):
            PolicyFile("model.zip", trust=True, **{name: told[name]}).for_rules(Rules())
    with pytest.raises(PolicyFileError, match=r": name observation='vector', actions='hand', preview=True or --obs"):
        PolicyFile("model.zip", trust=True, **told).for_rules(Rules())
    for given in ({}, told):
        with pytest.raises(PolicyFileError, match=r"no options give .*: play the game that it has learned$"):
            PolicyFile("model.zip", trust=True, **given).for_rules(Rules(num_players=2))
    told |= {"actions": "hand", "preview": True}
    assert callable(PolicyFile("model.zip", trust=True, **told).for_rules(Rules()))
    with pytest.raises(PolicyFileError, match="models of TD3 cannot be used: algorithms are MaskablePPO, "):
        PolicyFile("model.zip", trust=True, algorithm="TD3", observation="vector").for_rules(Rules())
    with pytest.raises(PolicyFileError, match="it is damaged, or not a model of DQN of stable-baselines3: "):
        PolicyFile("model.zip", trust=True, algorithm="DQN", observation="vector").for_rules(Rules())


@pytest.mark.parametrize("options", [{}, {"preview": True}, {"actions": "hand"}, {"padded": True}, {"mask_in": "obs"}])
@pytest.mark.parametrize("observation", ["pieces", "vector"])
def test_of_wrong_options_the_right_ones_are_named(observation: Any, options: dict[str, Any], tmp_path: Path) -> None:
    make("MaskablePPO", observation=observation, **options)[0].save(tmp_path / "model.zip")
    flags = " ".join(
        [f"--{name.replace('_', '-')}" + f" {each}" * (each is not True) for name, each in options.items()]
    )
    wrong: Any = "pieces" if observation == "vector" else "vector"
    told = PolicyFile(str(tmp_path / "model.zip"), trust=True, algorithm="MaskablePPO", observation=wrong)
    with pytest.raises(
        PolicyFileError, match=rf"had other options: name obs.* or --observation {observation} ?{flags}$"
    ):
        told.for_rules(Rules())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"null",
        b"[1]",
        b"{}",
        b"[" * 50_000,
        b'{"game": "chess", "rules": {}, "observation": "vector"}',
        b'{"game": "quincunx", "rules": {"num_players": "2"}, "observation": "vector"}',
        b'{"game": "quincunx", "rules": {"queens": 8}, "observation": "vector"}',
        b'{"game": "quincunx", "rules": 3, "observation": "vector"}',
        b'{"game": "quincunx", "rules": {}, "observation": "vector", "colour": "red"}',
        b'{"game": "quincunx", "rules": {}, "observation": 3}',
        b'{"game": "quincunx", "rules": {}}',
        b'{"game": "quincunx", "rules": {}, "observation": "vector", "preview": true}',
    ],
)
def test_a_damaged_file_of_options_is_refused(content: bytes, tmp_path: Path) -> None:
    save(make("MaskablePPO", observation="vector")[0], tmp_path / "model.zip")
    (tmp_path / "model.json").write_bytes(content)
    with pytest.raises(PolicyFileError, match=r"^[^\n]*model\.zip cannot be used: [^\n]+$"):
        PolicyFile(str(tmp_path / "model.zip"), trust=True).for_rules(Rules())


def test_the_options_are_part_of_the_policy(tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    make("MaskablePPO", observation="vector")[0].save(path)
    told: list[dict[str, Any]] = [{}, {"observation": "vector"}, {"algorithm": "PPO"}]
    digests = {PolicyFile(str(path), True, **options).digest for options in told}
    save(make("MaskablePPO", observation="vector")[0], path)
    file = PolicyFile(str(path), trust=True)
    assert file.digest not in digests
    assert len(digests) == 3
    written = (tmp_path / "model.json").read_bytes()
    (tmp_path / "model.json").write_bytes(written.replace(b"\n", b"\r\n"))
    assert PolicyFile(str(path), trust=True).digest == file.digest, "line endings do not count"
    (tmp_path / "model.json").write_bytes(written.replace(b"vector", b"pieces"))
    with pytest.raises(PolicyFileError, match="has changed since it was named"):
        file.for_rules(Rules())


def test_models_that_a_file_cannot_describe_are_refused(tmp_path: Path) -> None:
    normalized: Any = VecNormalize(SolitaireVecEnv(1, observation="vector"))
    alone = A2C("MlpPolicy", SolitaireVecEnv(1, observation="vector"), n_steps=2, **SMALL)
    alone.env = None
    own = PPO("MlpPolicy", gymnasium.make("CartPole-v1"), n_steps=2, batch_size=2, **SMALL)
    scaled = TransformObservation(env := SolitaireEnv(observation="vector"), lambda seen: seen, env.observation_space)
    scaled.observation_space = gymnasium.spaces.Box(0, 9, (327,), np.float32)
    for model, path, message in (
        (A2C("MlpPolicy", normalized, n_steps=2, **SMALL), "model.zip", "a wrapper changes the observations"),
        (A2C("MlpPolicy", scaled, n_steps=2, **SMALL), "model.zip", "a wrapper changes the observations"),
        (own, "model.zip", "the model needs an environment of this package"),
        (alone, "model.zip", "the model needs an environment of this package"),
        (make("PPO", observation="vector")[0], "model", r"a model is saved as \*\.zip, got 'model'"),
    ):
        with pytest.raises(ValueError, match=message):
            save(model, tmp_path / path)
    assert not [*tmp_path.iterdir()]


NAN = "it computes numbers that are none (NaN)"


@pytest.mark.parametrize("kind", ["MaskablePPO", "own", "PPO", "A2C", "DQN"])
def test_a_model_that_computes_nan_is_named_in_one_line(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """At the beginning of games or later, whatever the kind."""
    monkeypatch.chdir(tmp_path)
    model = make(kind, observation="vector", preview=True)[0]
    save(model, "model.zip")
    later = PolicyFile("model.zip", trust=True)
    evaluate(later, 2)
    _spoil(files._load(later).policy)
    with pytest.raises(PolicyFileError, match=rf"^model\.zip cannot be used: {re.escape(NAN)}[^\n]"):
        evaluate(later, 2)
    _spoil(model.policy)
    save(model, "model.zip")
    assert one_line(capfd, "mine=model.zip", "--trust").startswith(f"error: model.zip cannot be used: {NAN}")


def _spoil(policy: Any) -> None:
    with torch.no_grad():
        for parameter in policy.parameters():
            parameter.fill_(torch.nan)


# --- Trust -----------------------------------------------------------------------------------------------------------


class Canary:
    """Leaves a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def change(path: Path, edit: Callable[[dict[str, Any]], None]) -> None:
    """Change the JSON in a saved model."""
    with zipfile.ZipFile(path) as archive:
        content = {name: archive.read(name) for name in archive.namelist()}
    data = json.loads(content["data"])
    edit(data)
    with zipfile.ZipFile(path, "w") as archive:
        for name, part in (content | {"data": json.dumps(data).encode()}).items():
            archive.writestr(name, part)


@pytest.mark.parametrize("kind", ["MaskablePPO", "own", "PPO", "A2C", "DQN"])
def test_code_is_executed_with_trust_alone(kind: str, tmp_path: Path) -> None:
    path, canary = tmp_path / "model.zip", tmp_path / "canary"
    save(make(kind, observation="vector", preview=True)[0], path)
    pickled = base64.b64encode(pickle.dumps(Canary(canary))).decode()
    change(path, lambda data: data["policy_class"].update({":serialized:": pickled}))
    with pytest.raises(UntrustedFileError, match=r"model\.zip needs to be trusted, .* add --trust to the same command"):
        PolicyFile(str(path)).for_rules(Rules())
    assert not canary.exists()
    with pytest.raises(PolicyFileError, match="cannot be used"):
        PolicyFile(str(path), trust=True).for_rules(Rules())
    assert canary.exists()


def test_functions_of_training_are_not_unpickled(tmp_path: Path) -> None:
    """They may be of another version of Python, and no game needs them."""
    path, canary = tmp_path / "model.zip", tmp_path / "canary"
    save(make("PPO", observation="vector")[0], path)
    pickled = {":type:": "<class 'function'>", ":serialized:": base64.b64encode(pickle.dumps(Canary(canary))).decode()}
    change(path, lambda data: data.update(dict.fromkeys(("learning_rate", "lr_schedule", "clip_range"), pickled)))
    assert callable(PolicyFile(str(path), trust=True).for_rules(Rules()))
    assert not canary.exists()


# --- Files that cannot be used ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.pop("policy_class"),
        lambda data: data.update(policy_class=3),
        lambda data: data.update(policy_kwargs=[]),
        lambda data: data.update(rollout_buffer_class=3),
        lambda data: data.clear(),
        lambda data: data.update(observation_space={}),
        lambda data: data.pop("observation_space"),
        lambda data: data["observation_space"].update({":serialized:": "AAAA"}),
        lambda data: data["observation_space"].update({":serialized:": 3}),
    ],
)
def test_a_damaged_description_is_refused(edit: Callable[[dict[str, Any]], None], tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    save(make("MaskablePPO", observation="vector")[0], path)
    change(path, edit)
    with pytest.raises(PolicyFileError, match=r"^[^\n]*model\.zip cannot be used: [^\n]+$"):
        PolicyFile(str(path), trust=True).for_rules(Rules())


@pytest.mark.parametrize("missing", ["action_net.bias", "mlp_extractor.policy_net.0.weight", "all"])
def test_missing_weights_are_refused(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    save(make("MaskablePPO", observation="vector")[0], path)
    with zipfile.ZipFile(path) as archive:
        data, weights = archive.read("data"), torch.load(archive.open("policy.pth"), weights_only=True)
    weights = {name: tensor for name, tensor in weights.items() if name != missing and missing != "all"}
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("data", data)
        with archive.open("policy.pth", "w") as file:
            torch.save(weights, file)
    with pytest.raises(PolicyFileError, match=r"^[^\n]*model\.zip cannot be used: [^\n]+$"):
        PolicyFile(str(path), trust=True).for_rules(Rules())


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_model_is_refused(share: float, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    save(make("MaskablePPO", observation="vector")[0], path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(PolicyFileError, match=r"^[^\n]*model\.zip cannot be used: it is damaged, or not a[^\n]+$"):
        PolicyFile(str(path), trust=True).for_rules(Rules())


# --- Human play ------------------------------------------------------------------------------------------------------


def test_files_are_loaded_with_trust_whether_the_command_line_or_a_record_names_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save(make("PPO", observation="vector", num_players=2)[0], "model.zip")
    chosen: dict[str, Any] = {"rules": Rules(num_players=2), "opponents": ("model.zip",), "adviser": "model.zip"}
    with pytest.raises(UntrustedFileError):
        Arguments(**chosen).begin()
    session: Any = Arguments(**chosen, trust=True).begin()
    assert (session.names, session.adviser) == (("human", "model.zip"), "model.zip")
    session.play(session.candidates()[0].action)
    session.record.write(Path("game.txt"))
    for adviser in (None, "model.zip"):
        cases: list[dict[str, Any]] = [{}, {"opponents": ("model.zip",)}]
        for options in cases:
            with pytest.raises(ValueError, match=r"--resume game\.txt --opponents model\.zip$|needs to be trusted"):
                Arguments(resume=Path("game.txt"), adviser=adviser, **options).begin()
            resumed: Any = Arguments(resume=Path("game.txt"), adviser=adviser, trust=True, **options).begin()
            assert resumed.names == session.names
    with pytest.raises(UntrustedFileError):
        Games(tmp_path, session.adviser, named={"model.zip": "model.zip"}).table("game")
    command = ["replay", "game.txt", "--html", "game.html", "--values", "model.zip"]
    with pytest.raises(SystemExit):
        main(command)
    assert "add --trust to the same command" in capsys.readouterr().err
    main([*command, "--trust"])
    assert "Values of model.zip" in Path("game.html").read_text()
