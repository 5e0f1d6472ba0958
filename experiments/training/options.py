"""The options of a run but for those of Lightning's Trainer, and what a run is by them alone.

Importing Lightning takes seconds, which help and a plan have no use for. `command_line` has the same options, and the
Trainer's.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ActionConfigFile, ArgumentParser, Namespace, set_loader, set_parsing_settings

from experiments.data import BlockData
from experiments.evaluation.evaluation import DEFAULT_METRICS, EvaluationConfig
from experiments.strict_yaml import parse_setting
from experiments.training.help import FIT, RunParser
from experiments.training.run_spec import TRAINER_DEFAULTS, RunSpec
from objectives import Objective
from objectives.construction.class_paths import allow_imports, allowed_imports


def prepare_parsing(imports: Sequence[str]) -> None:
    """Let configurations name the classes of our packages and of `imports`, and read YAML in one way only."""
    allow_imports(imports)
    set_parsing_settings(
        import_path_denylist=["*"],
        import_path_allowlist=allowed_imports(),
        docstring_parse_attribute_docstrings=True,
    )
    set_loader("yaml", parse_setting, (yaml.YAMLError,))


def add_seed(parser: ArgumentParser) -> None:
    help_text = "Seed of the initial weights, of every draw and of the order of the blocks."
    parser.add_argument("--seed_everything", type=int, default=0, help=help_text)


def add_parts(parser: ArgumentParser) -> None:
    """Objective and data. The objective's vocabulary is no option: the data has it, once it is made."""
    parser.add_subclass_arguments(Objective, "model", fail_untyped=False, required=True, skip={"vocabulary"})
    parser.add_subclass_arguments(BlockData, "data", fail_untyped=False, required=True)


def add_places_and_measures(parser: ArgumentParser) -> None:
    """Where a run is, and what is recorded and measured of it."""
    parser.add_argument("--results", type=str, default="results/fit", help="Directory of the runs and their data.")
    parser.add_argument("--name", type=str, default="run", help="Readable first part of the run's directory.")
    parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: as many as torch finds cores.")
    parser.add_argument(
        "--record_every_steps",
        type=int,
        default=20,
        help="Optimiser steps between lines of the training curve.",
    )
    parser.add_argument("--checkpoint_every_steps", type=int, default=200, help="Optimiser steps between checkpoints.")
    parser.add_argument(
        "--continue",
        type=str | None,
        default=None,
        help="Directory of a finished run with a smaller budget and otherwise equal settings, to go on from.",
    )
    parser.add_class_arguments(EvaluationConfig, "evaluation")
    parser.set_defaults({"evaluation.metrics": DEFAULT_METRICS})
    parser.link_arguments("seed_everything", "model.init_args.seed")
    parser.link_arguments("seed_everything", "data.init_args.seed")


def resolved(parser: ArgumentParser, settings: Namespace) -> dict[str, Any]:
    """The configuration with all its defaults, as plain values; links are left to be made again."""
    return yaml.safe_load(parser.dump(settings, skip_link_targets=True, skip_unset=False))


def parser_without_trainer(imports: Sequence[str]) -> RunParser:
    """The parser of `fit`, less the Trainer's options: it refuses them, in a configuration too."""
    prepare_parsing(imports)
    parser = RunParser(exit_on_error=False, **FIT)
    parser.add_argument(
        "-c", "--config", action=ActionConfigFile, help="Path to a configuration file in json or yaml format."
    )
    add_seed(parser)
    add_parts(parser)
    add_places_and_measures(parser)
    return parser


def run_without_trainer(options: Sequence[str], imports: Sequence[str]) -> RunSpec:
    """The run of options that name no setting of the Trainer. What it raises does not say what is wrong with them: they
    may name one, and the parser that knows those says it."""
    parser = parser_without_trainer(imports)
    config = resolved(parser, parser.parse_args(list(options)))
    defaults = lightning_defaults_as_written()
    seed = {"seed_everything": config.pop("seed_everything")}
    return RunSpec.from_config({**seed, "trainer": {**defaults, **TRAINER_DEFAULTS}, **config}, defaults)


@cache
def lightning_defaults_as_written() -> dict[str, Any]:
    """The Trainer's settings with Lightning's defaults, read in its source. Raises where they are written otherwise."""
    package = find_spec("pytorch_lightning")
    assert package is not None and package.submodule_search_locations
    source = Path(package.submodule_search_locations[0], "trainer", "trainer.py").read_text(encoding="utf-8")
    (trainer,) = (one for one in ast.parse(source).body if isinstance(one, ast.ClassDef) and one.name == "Trainer")
    (init,) = (one for one in trainer.body if isinstance(one, ast.FunctionDef) and one.name == "__init__")
    named = zip(init.args.kwonlyargs, init.args.kw_defaults, strict=True)
    return {argument.arg: ast.literal_eval(default) for argument, default in named if default is not None}
