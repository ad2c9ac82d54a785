"""The public names of the package. `__init__.py` reads this list, too."""

from quincunx_env import quincunx_v0 as quincunx_v0
from quincunx_env import spiral as spiral
from quincunx_env import spiral_v0 as spiral_v0
from quincunx_env.core.game import IllegalAction as IllegalAction
from quincunx_env.core.policy import Agent as Agent
from quincunx_env.core.policy import Policy as Policy
from quincunx_env.core.policy import PolicyFactory as PolicyFactory
from quincunx_env.core.resample import resample as resample
from quincunx_env.core.spec import GameSpec as GameSpec
from quincunx_env.envs.aec import CardGameAEC as CardGameAEC
from quincunx_env.envs.batched import BatchedGames as BatchedGames
from quincunx_env.envs.batched import Position as Position
from quincunx_env.envs.batched import StepResult as StepResult
from quincunx_env.envs.masks import sample_action as sample_action
from quincunx_env.envs.masks import sampling_mask as sampling_mask
from quincunx_env.envs.solitaire import SolitaireEnv as SolitaireEnv
from quincunx_env.envs.solitaire import SolitaireVectorEnv as SolitaireVectorEnv
from quincunx_env.envs.text import TextEnv as TextEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv as VsOpponentsEnv
from quincunx_env.envs.vs_opponents import VsOpponentsVectorEnv as VsOpponentsVectorEnv
from quincunx_env.notation.prompts import prompt as prompt
from quincunx_env.notation.prompts import read_action as read_action
from quincunx_env.notation.record import Record as Record
from quincunx_env.notation.rules_card import rules_card as rules_card
from quincunx_env.notation.text import parse_action as parse_action
from quincunx_env.notation.text import print_action as print_action
from quincunx_env.notation.text import to_json as to_json
from quincunx_env.notation.text import to_text as to_text
from quincunx_env.policies import registered_policies as registered_policies
from quincunx_env.policies import resolve as resolve
from quincunx_env.quincunx import Batch as Batch
from quincunx_env.quincunx import Deal as Deal
from quincunx_env.quincunx import Game as Game
from quincunx_env.quincunx import Observer as Observer
from quincunx_env.quincunx import PaddedObserver as PaddedObserver
from quincunx_env.quincunx import Rules as Rules
from quincunx_env.quincunx.cards import card_name as card_name
from quincunx_env.quincunx.cards import parse_card as parse_card
from quincunx_env.quincunx.scoring import RATINGS as RATINGS
from quincunx_env.quincunx.scoring import Score as Score
from quincunx_env.registry import GAMES as GAMES
from quincunx_env.registry import make_observer as make_observer
from quincunx_env.registry import make_rules as make_rules
from quincunx_env.registry import spec_of as spec_of

__all__: list[str]
__version__: str
