"""Train an agent for the solitaire, and compare it on benchmark deals."""

import argparse

import torch
from sb3_contrib import MaskablePPO
from stable_baselines3.common.utils import LinearSchedule

from quincunx_agents.torch import QuincunxMaskablePolicy, sb3_agent
from quincunx_env import Game, Rules, render
from quincunx_env.adapters.sb3 import LearningCurve, SolitaireVecEnv, save
from quincunx_env.arena import evaluate, table

parser = argparse.ArgumentParser(description=__doc__)
for flag, default in {"--steps": 300_000, "--seed": 0, "--deals": 1_000}.items():
    parser.add_argument(flag, type=int, default=default)
options = parser.parse_args()
torch.set_num_threads(1)  # more threads slow down a network this small

env = SolitaireVecEnv(500, observation="vector", preview=True, actions="hand")  # 500 games side by side
observer = env.envs.observer
model = MaskablePPO(
    QuincunxMaskablePolicy,
    env,
    policy_kwargs={"observer": observer},
    n_steps=12,  # of each game between two updates: 6,000 steps in all
    batch_size=1_000,
    n_epochs=2,
    learning_rate=LinearSchedule(8e-3, 0.0, 1.0),
    gamma=1.0,  # a score is a sum
    gae_lambda=0.7,
    ent_coef=0.01,
    vf_coef=0.0002,  # values are in points
    seed=options.seed,
    device="cpu",
)
env.seed(10**12 * options.seed)  # row i gets this + i: so runs share no deals
curve = LearningCurve("learning_curve.png", every=max(options.steps // 20, 1), verbose=1)
model.learn(options.steps, callback=curve)
save(model, "model.zip")  # with the options of the environment, model.json

agent = sb3_agent(model.policy, env.envs.codec)
game = Game.from_seed(Rules(), seed=0)
render.save("heat_map.svg", game, values=agent.probabilities(game), unit="percent")  # the best card of each cell

results = {name: evaluate(name, options.deals) for name in ("uniform", "greedy", "heuristic")}
results["mine"] = evaluate(agent, options.deals)
print(table(results))
