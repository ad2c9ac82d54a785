"""The public names of `quincunx_env`, which imports them when the first of them is used."""

from quincunx_env import quincunx_v0, spiral, spiral_v0
from quincunx_env.core.game import IllegalAction
from quincunx_env.core.policy import Agent, Policy, PolicyFactory
from quincunx_env.core.resample import resample
from quincunx_env.core.spec import GameSpec
from quincunx_env.envs.aec import CardGameAEC
from quincunx_env.envs.batched import BatchedGames, Position, StepResult
from quincunx_env.envs.codec import sample_action, sampling_mask
from quincunx_env.envs.solitaire import SolitaireEnv, SolitaireVectorEnv
from quincunx_env.envs.text import TextEnv
from quincunx_env.envs.vs_opponents import VsOpponentsEnv, VsOpponentsVectorEnv
from quincunx_env.notation.prompts import prompt, read_action
from quincunx_env.notation.record import Record
from quincunx_env.notation.rules_card import rules_card
from quincunx_env.notation.text import parse_action, print_action, to_json, to_text
from quincunx_env.policies import registered_policies, resolve
from quincunx_env.quincunx import Batch, Deal, Game, Observer, PaddedObserver, Rules
from quincunx_env.quincunx.cards import card_name, parse_card
from quincunx_env.quincunx.scoring import RATINGS, Score
from quincunx_env.registry import GAMES, make_observer, make_rules, spec_of

__all__ = [
    "GAMES",
    "RATINGS",
    "Agent",
    "Batch",
    "BatchedGames",
    "CardGameAEC",
    "Deal",
    "Game",
    "GameSpec",
    "IllegalAction",
    "Observer",
    "PaddedObserver",
    "Policy",
    "PolicyFactory",
    "Position",
    "Record",
    "Rules",
    "Score",
    "SolitaireEnv",
    "SolitaireVectorEnv",
    "StepResult",
    "TextEnv",
    "VsOpponentsEnv",
    "VsOpponentsVectorEnv",
    "card_name",
    "make_observer",
    "make_rules",
    "parse_action",
    "parse_card",
    "print_action",
    "prompt",
    "quincunx_v0",
    "read_action",
    "registered_policies",
    "resample",
    "resolve",
    "rules_card",
    "sample_action",
    "sampling_mask",
    "spec_of",
    "spiral",
    "spiral_v0",
    "to_json",
    "to_text",
]
