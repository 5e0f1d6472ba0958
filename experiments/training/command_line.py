"""The LightningCLI behind `fit`, `validate` and `test`: a run is a directory, and an idempotent command."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytorch_lightning as pl
import torch
import yaml
from jsonargparse import set_parsing_settings
from lightning_fabric.plugins.environments import SLURMEnvironment
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

from experiments.data import BlockData
from experiments.evaluation.evaluation import Evaluation, EvaluationConfig
from experiments.records import durable, run_directory
from experiments.training.callbacks import AllMeasures, StopRequest
from experiments.training.checkpoint_files import DurableCheckpointIO
from experiments.training.loop import Run, fit_run
from experiments.training.run_spec import describe_run
from objectives import Objective, Vocabulary

OUR_PACKAGES = ("objectives", "experiments", "pytorch_lightning", "torch.optim")
"""Where class paths may point; others have to be allowed by name, because parsing a class path imports it."""
TRAINER_DEFAULTS = {
    "accelerator": "auto",
    "devices": 1,
    "max_epochs": -1,
    "logger": False,
    "enable_checkpointing": False,
    "enable_model_summary": False,
    "enable_progress_bar": False,
    "num_sanity_val_steps": 0,
    "use_distributed_sampler": False,
}


# Lightning's advice and its list of absent devices; warnings stay.
logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*")


RESERVED = {
    "min_steps": "model.init_args.budget",
    "min_epochs": "model.init_args.budget",
    "max_steps": "model.init_args.budget",
    "max_epochs": "model.init_args.budget",
    "max_time": "model.init_args.budget",
    "limit_train_batches": "model.init_args.budget",
    "overfit_batches": "a smaller corpus",
    "fast_dev_run": "a small model.init_args.budget",
    "gradient_clip_val": "model.init_args.optimizer.gradient_clip",
    "gradient_clip_algorithm": "model.init_args.optimizer.gradient_clip, a norm",
    "use_distributed_sampler": "nothing: each rank reads its part of the stream",
}
"""Settings of the Trainer that would end a run, or change its gradients, behind the back of its budget and hash."""


MOST_THREADS = 256
"""More is a slip, and would hang rather than run."""


class AlreadyDone(Exception):
    """The run is complete; there is nothing to do."""


class ObjectiveCLI(LightningCLI):
    """Command line of one run: an objective, its data, a Trainer, and where to put what comes out."""

    stop: ClassVar[StopRequest] = StopRequest()

    def __init__(self, args: Sequence[str], allowed_imports: Sequence[str] = ()) -> None:
        self.command = args[0]
        set_parsing_settings(
            import_path_denylist=["*"],
            import_path_allowlist=[*OUR_PACKAGES, *allowed_imports],
            docstring_parse_attribute_docstrings=True,
            subclasses_enabled=[Vocabulary],  # one value, from the data, rather than seven settings
        )
        super().__init__(
            Objective,
            BlockData,
            save_config_callback=None,
            trainer_defaults=dict(TRAINER_DEFAULTS),
            seed_everything_default=0,
            parser_kwargs={"exit_on_error": False, "prog": "clm-vs-mlm"},
            subclass_mode_model=True,
            subclass_mode_data=True,
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            args=list(args),
        )

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_argument("--results", type=str, default="results/fit", help="Directory of the runs and their data.")
        parser.add_argument("--name", type=str, default="run", help="Readable first part of the run's directory.")
        parser.add_argument("--threads", type=int, default=0, help="CPU threads; 0: as many as torch finds cores.")
        parser.add_argument(
            "--record_every_steps",
            type=int,
            default=20,
            help="Optimiser steps between lines of the training curve.",
        )
        parser.add_argument(
            "--checkpoint_every_steps", type=int, default=200, help="Optimiser steps between checkpoints."
        )
        parser.add_class_arguments(EvaluationConfig, "evaluation")
        parser.link_arguments("seed_everything", "model.init_args.seed")
        parser.link_arguments("seed_everything", "data.init_args.seed")
        parser.link_arguments("data.vocabulary", "model.init_args.vocabulary", apply_on="instantiate")

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """As Lightning does it, without its warning that sys.argv exists too."""
        self.config = parser.parse_args(args)

    def subcommands(self) -> dict[str, set[str]]:  # type: ignore[override]
        """The one subcommand asked for: to build the parsers of all takes seconds."""
        skipped = {"model", "dataloaders", "datamodule", "train_dataloaders", "val_dataloaders", "weights_only"}
        # fit takes no checkpoint: it resumes its own run, whose settings are those of its hash.
        return {self.command: skipped | {"ckpt_path"} if self.command == "fit" else skipped}

    def _parse_ckpt_path(self) -> None:
        """Nothing: settings come from the configuration; the objective refuses a checkpoint of other settings."""

    def before_instantiate_classes(self) -> None:
        self.settings = self.config[self.subcommand]
        if isinstance(self.settings.seed_everything, bool):
            raise ValueError("seed_everything must be a number: true would mean seed 0 and false no seed at all")
        if self.subcommand != "fit" and not self.settings.ckpt_path:
            raise ValueError(f"{self.subcommand} measures a snapshot; name it with --ckpt_path RUN/snapshots/FILE.ckpt")
        if not 0 <= self.settings.threads <= MOST_THREADS:
            raise ValueError(f"threads must be from 0 to {MOST_THREADS}, but is {self.settings.threads}")
        parser = self._parser(self.subcommand)
        for setting, instead in RESERVED.items():
            if (value := self.settings.trainer[setting]) != parser.get_default(f"trainer.{setting}"):
                raise ValueError(f"trainer.{setting} is {value}, but has to be left alone here; use {instead}")
        torch.set_num_threads(self.settings.threads or torch.get_num_threads())

    def instantiate_classes(self) -> None:
        self.plain = self.resolved()
        self._place_data()
        if self.subcommand != "fit":
            return super().instantiate_classes()
        self.cell = describe_run(self.plain)
        self.run_directory = Path(self.settings.results) / self.cell["directory"]
        if (self.run_directory / run_directory.DONE).exists():
            raise AlreadyDone(str(self.run_directory))
        durable.make_directory(self.run_directory)
        super().instantiate_classes()

    def _place_data(self) -> None:
        """Packed text lies beside the runs that share it, unless a root is given."""
        arguments = self.settings.data.init_args
        if "root" in arguments and arguments.root is None:
            arguments.root = f"{self.settings.results}/data"

    def resolved(self) -> dict[str, Any]:
        """The configuration with all its defaults, as plain values; links are left to be made again."""
        parser = self._parser(self.subcommand)
        return yaml.safe_load(parser.dump(self.settings, skip_link_targets=True, skip_unset=False))

    def before_test(self) -> None:
        evaluation = Evaluation(self.datamodule, self._get(self.config_init, "evaluation"))
        self.trainer.callbacks.append(AllMeasures(evaluation))  # type: ignore[attr-defined]

    def fit(self, model: Objective, datamodule: BlockData) -> None:
        """Train a run from where it stands to the end of its budget."""
        evaluation = self._get(self.config_init, "evaluation")
        fit_run(self.trainer, model, datamodule, Run(self.run_directory, self.cell, self.plain, evaluation), self.stop)

    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        config = self._get(self.config_init, "trainer")
        if self.subcommand == "fit":
            configured = config.get("logger") or []
            others = configured if isinstance(configured, list) else [configured]
            kwargs["default_root_dir"] = str(self.run_directory)
            kwargs["logger"] = [one for one in others if one is not True]
        plugins = [*(config.get("plugins") or []), DurableCheckpointIO()]
        if SLURMEnvironment.detect():
            # Lightning's requeue saves inside a signal handler; ours saves at the end of the step.
            plugins.append(SLURMEnvironment(auto_requeue=False))
        kwargs["plugins"] = plugins
        return super().instantiate_trainer(**kwargs)


class PlannedCLI(ObjectiveCLI):
    """Parses and checks a run without touching its data or its directory; `cell` and `plain` say what it is."""

    def _set_seed(self) -> None:
        pass

    def instantiate_classes(self) -> None:
        self.plain = self.resolved()
        self.cell = describe_run(self.plain)

    def _run_subcommand(self, subcommand: str) -> None:
        pass
