"""Train a value network of afterstates by TD(lambda), alone or in self-play.

    make train                                         # the solitaire, in a virtual environment made for it
    python -m train.td_lambda two-players              # a named setting, in an environment with the [train] extra
    python -m train.td_lambda spiral --seed 1          # options after the name change it
    python -m train.td_lambda spiral --seed 1 --resume # continue after an interruption

Settings, with results on benchmark deals and processor time:

{settings}

A run writes to ``runs/<name>``: the weights ``<name>.safetensors``, ``<name>.json`` and ``results.md`` with results,
``learning_curve.png``, ``games/`` and ``tensorboard/``. Evaluations during training use ``validation`` deals, the final
figures ``benchmark`` deals.
"""

from train.common.options import run_script
from train.td_lambda.results import listing
from train.td_lambda.settings import Arguments as Arguments
from train.td_lambda.training import main

if __name__ == "__main__":
    assert __doc__
    run_script(main, Arguments, "train.td_lambda", __doc__.format(settings=listing()))
