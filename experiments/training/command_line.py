"""The LightningCLI behind `fit`: from the command line to what a run is, to its parts, and through its training."""

from __future__ import annotations

import inspect
import logging
import warnings
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from jsonargparse import Namespace
from lightning_fabric.plugins.environments import SLURMEnvironment
from pytorch_lightning.callbacks import (
    BatchSizeFinder,
    Checkpoint,
    EarlyStopping,
    GradientAccumulationScheduler,
    LearningRateFinder,
    Timer,
)
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI
from pytorch_lightning.loggers import Logger

from experiments.data import BlockData
from experiments.records import durable, run_directory
from experiments.records.checkpoints import CHECKPOINTS, complete
from experiments.training.callbacks import StopRequest
from experiments.training.checkpoint_files import DurableCheckpointIO
from experiments.training.help import FIT, RunParser
from experiments.training.loop import fit_run, locked
from experiments.training.options import add_parts, add_places_and_measures, add_seed, prepare_parsing, resolved
from experiments.training.parents.continuation import begin_where_it_ended, check_continuation
from experiments.training.parents.warm_start import load_weights, snapshot_of
from experiments.training.progress_bar import announce
from experiments.training.run_spec import TRAINER_DEFAULTS, RunSpec, check_seed
from objectives import Objective, Vocabulary
from objectives.construction.class_paths import import_object

RESERVED = {
    "min_steps": "use model.init_args.budget",
    "min_epochs": "use model.init_args.budget",
    "max_steps": "use model.init_args.budget",
    "max_epochs": "use model.init_args.budget",
    "max_time": "use model.init_args.budget",
    "limit_train_batches": "use model.init_args.budget",
    "overfit_batches": "use a smaller corpus",
    "fast_dev_run": "use a small model.init_args.budget",
    "gradient_clip_val": "use model.init_args.optimizer.gradient_clip",
    "gradient_clip_algorithm": "use model.init_args.optimizer.gradient_clip, a norm",
    "use_distributed_sampler": "each rank reads its own part of the stream",
}
"""Settings of the Trainer that would end a run, or change its gradients, without regard to its budget and hash."""
REFUSED_CALLBACKS = {
    EarlyStopping: "it would end the run before its budget; set model.init_args.budget instead",
    Timer: "it would end the run before its budget; set model.init_args.budget instead",
    Checkpoint: "a run keeps its own checkpoints and snapshots; set checkpoint_every_steps and evaluation.snapshots",
    GradientAccumulationScheduler: "it would change how many tokens a step reads; set trainer.accumulate_grad_batches",
    BatchSizeFinder: "the batch size is part of what a run is; set data.init_args.batch_size",
    LearningRateFinder: "the learning rate is part of what a run is; set model.init_args.optimizer.learning_rate",
}
"""Callbacks that would end a run, or change its steps, without regard to its budget and hash."""
WEIGHTS_OF_16_BITS = ("16-true", "bf16-true", "transformer-engine", "transformer-engine-float16")
MOST_AT_ONCE = 4096
"""More is a slip, and would hang rather than run."""


class TrainingParser(RunParser, LightningArgumentParser):
    """Parser of a run's options and the Trainer's."""


class ObjectiveCLI(LightningCLI):
    """Command line of one run: an objective, its data, a Trainer, and where to put what comes out.

    To make one is to train the run from where it stands to the end of its budget; `run` says what it is.
    """

    def __init__(self, args: Sequence[str], imports: Sequence[str] = (), stop: StopRequest | None = None) -> None:
        self.stop = stop or StopRequest()
        prepare_parsing(imports)
        super().__init__(
            Objective,  # type: ignore[arg-type]  # trained inside of a TrainingModule
            BlockData,  # type: ignore[arg-type]  # read through a LightningDataModule
            save_config_callback=None,
            trainer_defaults=dict(TRAINER_DEFAULTS),
            seed_everything_default=0,
            parser_kwargs={"exit_on_error": False, "prog": "clm-vs-mlm", "fit": {**FIT, "refused": RESERVED}},
            parser_class=TrainingParser,
            subclass_mode_model=True,
            subclass_mode_data=True,
            auto_configure_optimizers=False,
            load_from_checkpoint_support=False,
            args=list(args),
        )

    def add_default_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        add_seed(parser)

    def add_core_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        parser.add_lightning_class_args(pl.Trainer, "trainer")
        parser.set_defaults({f"trainer.{name}": value for name, value in TRAINER_DEFAULTS.items()})
        add_parts(parser)

    def add_arguments_to_parser(self, parser: LightningArgumentParser) -> None:
        add_places_and_measures(parser)

    def parse_arguments(self, parser: LightningArgumentParser, args: Any) -> None:
        """As Lightning does it, without its warning that sys.argv exists too."""
        self.config = parser.parse_args(args)

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """`fit` alone. It takes no checkpoint: it resumes its own run, whose settings are those of its hash."""
        return {"fit": {"model", "datamodule", "train_dataloaders", "val_dataloaders", "ckpt_path", "weights_only"}}

    def _set_seed(self) -> None:
        check_seed(self.config.fit.seed_everything)
        super()._set_seed()

    def before_instantiate_classes(self) -> None:
        self.settings = self.config.fit
        parser = self._parser("fit")
        for setting, instead in RESERVED.items():
            if (value := self.settings.trainer[setting]) != parser.get_default(f"trainer.{setting}"):
                raise ValueError(f"trainer.{setting} is {value}, but must keep its default; {instead}")
        for setting in ("devices", "num_nodes", "accumulate_grad_batches"):
            if isinstance(value := self.settings.trainer[setting], int) and value > MOST_AT_ONCE:
                raise ValueError(f"trainer.{setting} goes up to {MOST_AT_ONCE:,}, but is {value}")
        if self.settings.trainer.precision in WEIGHTS_OF_16_BITS:
            raise ValueError(
                f"trainer.precision {self.settings.trainer.precision} keeps weights in 16 bits, in which small steps "
                f"are lost; use bf16-mixed, which keeps weights, norms, softmax and sums in 32"
            )
        _check_callbacks(self.settings.trainer.callbacks)

    def instantiate_classes(self) -> None:
        """Say what the run is; its parts are built where they are needed."""
        self.run = RunSpec.from_config(resolved(self._parser("fit"), self.settings), lightning_defaults())
        torch.set_num_threads(self.settings.threads or torch.get_num_threads())

    def _run_subcommand(self, subcommand: str) -> None:
        """Train a run that is not done: the data is made, the objective built and trained while no other process works
        on the run."""
        self.was_done = (self.run.directory / run_directory.DONE).exists()
        if self.was_done:
            return
        begins = not complete(self.run.directory / CHECKPOINTS)
        # What cannot be begun is refused before anything is made.
        if begins and self.run.continues:
            check_continuation(self.run.config, self.run.continues)
        elif begins and self.run.start:
            snapshot_of(self.run.start)
        durable.make_directory(self.run.directory)
        data = self.build_data()
        self.trainer = self.instantiate_trainer()
        # One rank stands for all.
        with locked(self.run.directory) if self.trainer.is_global_zero else nullcontext():
            if self.trainer.world_size == 1 and (self.run.directory / run_directory.DONE).exists():
                self.was_done = True  # by another process, in the meantime
                return
            announce(f"preparing the data ({data.source})")
            data.prepare_data()
            model = self._build("model", [(partial(_with_vocabulary, data.vocabulary), Objective, True)])
            if begins and self.run.continues:
                if self.trainer.is_global_zero:
                    begin_where_it_ended(self.run.directory, self.run.continues, model, data.block_length)
            elif begins and self.run.start:
                load_weights(model, self.run.start, data.fingerprints["tokenizer"])
            fit_run(self.trainer, model, data, self.run, self.stop)

    def build_data(self) -> BlockData:
        """The run's data, of which nothing is made yet. What it packs lies beside the runs that share it, unless it
        has a root of its own."""
        arguments = self.settings.data.init_args
        if "root" in arguments and arguments.root is None:
            arguments.root = f"{self.settings.results}/data"
        return self._build("data")

    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        _place_loggers(self.settings.trainer, self.run.directory)
        self.config_init = Namespace(trainer=self._build("trainer"))
        config = self._get(self.config_init, "trainer")
        kwargs["default_root_dir"] = str(self.run.directory)
        plugins = [*(config.get("plugins") or []), DurableCheckpointIO()]
        if SLURMEnvironment.detect():
            # Lightning's requeue saves inside a signal handler; ours saves at the end of the step.
            plugins.append(SLURMEnvironment(auto_requeue=False))
        kwargs["plugins"] = plugins
        trainer = super().instantiate_trainer(**kwargs)
        _check_loggers(trainer.loggers, self.run.directory)
        return trainer

    def _build(self, part: str, instantiators: Any = None) -> Any:
        """One part of the configuration, as what it stands for."""
        settings = Namespace({part: self.settings[part]})
        return self._parser("fit").instantiate(settings, instantiators=instantiators)[part]


class PlannedCLI(ObjectiveCLI):
    """Parses and checks a run without touching its data or its directory."""

    def _set_seed(self) -> None:
        pass

    def _run_subcommand(self, subcommand: str) -> None:
        pass


def quiet_lightning() -> None:
    """Leave out Lightning's advice and its list of absent devices; warnings stay, but for one of its own making."""
    logging.getLogger("pytorch_lightning.utilities.rank_zero").setLevel(logging.WARNING)
    warnings.filterwarnings("ignore", message=".*treespec, LeafSpec.*")
    # Who moves batches is the objective.
    warnings.filterwarnings("ignore", message="You have overridden `transfer_batch_to_device` in `LightningModule`")
    # Whoever runs jobs by `sweep --submitit` does not start them by srun either.
    warnings.filterwarnings("ignore", message="The `srun` command is available on your system but is not used")


def lightning_defaults() -> dict[str, Any]:
    """The Trainer's settings that have a default of Lightning's."""
    return {name: one.default for name, one in inspect.signature(pl.Trainer.__init__).parameters.items()}


def _check_callbacks(chosen: Any) -> None:
    """Refuse callbacks that a run cannot have; `chosen` is one or a list of them, by class path."""
    for one in chosen if isinstance(chosen, list) else [chosen]:
        path = one.get("class_path") if isinstance(one, Namespace | dict) else None
        cls = import_object(path) if path else None
        for refused, reason in REFUSED_CALLBACKS.items():
            if isinstance(cls, type) and issubclass(cls, refused):
                raise ValueError(f"trainer.callbacks has {cls.__name__}, but must not: {reason}")


def _place_loggers(trainer: Namespace, run: Path) -> None:
    """Let the configured loggers write below the run's directory, unless their save_dir is absolute."""
    configured = trainer.logger if isinstance(trainer.logger, list) else [trainer.logger]
    for logger in configured:
        if isinstance(logger, Namespace) and (place := logger.get("init_args.save_dir")) is not None:
            logger.init_args.save_dir = str(run / place)


def _check_loggers(loggers: Iterable[Logger], run: Path) -> None:
    """Raises ValueError when a logger would write where the run's own metrics.csv lies."""
    for logger in loggers:
        directory = getattr(logger, "log_dir", None)
        if directory is not None and Path(directory).resolve() == run.resolve():
            raise ValueError(
                f"{type(logger).__name__} would write over the records of {run}; give it another name or version"
            )


def _with_vocabulary(vocabulary: Vocabulary, cls: type[Objective], **arguments: Any) -> Objective:
    return cls(vocabulary=vocabulary, **arguments)
