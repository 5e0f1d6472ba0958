"""The LightningCLI behind `fit`, `validate` and `test`: a run is a directory, and an idempotent command."""

from __future__ import annotations

import logging
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any, ClassVar

import pytorch_lightning as pl
import torch
import yaml
from filelock import FileLock, Timeout
from jsonargparse import set_parsing_settings
from pytorch_lightning.cli import LightningArgumentParser, LightningCLI

from experiments import store
from experiments.callbacks import Checkpoints, CommonMeasures, Snapshots, Status, StopRequest
from experiments.checkpoint import DurableCheckpointIO, complete
from experiments.data import BlockData
from experiments.environment import describe, pairing
from experiments.evaluate import Evaluation, EvaluationConfig
from experiments.recorder import MetricsFile, Recorder
from objectives import Objective, Vocabulary
from objectives.base import build_arguments, import_object

OUR_PACKAGES = ("objectives", "experiments", "pytorch_lightning", "torch.optim")
"""Where class paths may point; others have to be allowed by name, because parsing a class path imports it."""
NOT_IDENTITY = ("config", "results", "name", "threads")
"""Settings that say where and how fast, not what: they leave a run's hash alone."""
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
    "max_steps": "model.init_args.budget",
    "max_epochs": "model.init_args.budget",
    "max_time": "model.init_args.budget",
    "limit_train_batches": "model.init_args.budget",
    "overfit_batches": "a smaller corpus",
    "fast_dev_run": "a small model.init_args.budget",
    "gradient_clip_val": "model.init_args.optimizer.gradient_clip",
    "use_distributed_sampler": "nothing: each rank reads its part of the stream",
}
"""Settings of the Trainer that would end a run, or change its gradients, behind the back of its budget and hash."""


class Interrupted(Exception):
    """The run was asked to stop; it has saved its state and can be resumed."""


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
        skipped = {
            "model",
            "dataloaders",
            "datamodule",
            "train_dataloaders",
            "val_dataloaders",
            "weights_only",
        }
        # fit takes no checkpoint: it resumes its own run, whose settings are those of its hash.
        return {self.command: skipped | {"ckpt_path"} if self.command == "fit" else skipped}

    def _parse_ckpt_path(self) -> None:
        """Nothing: settings come from the configuration; a checkpoint that differs from it is refused on loading."""

    def before_instantiate_classes(self) -> None:
        self.settings = self.config[self.subcommand]
        if isinstance(self.settings.seed_everything, bool):
            raise ValueError("seed_everything must be a number: true would mean seed 0 and false no seed at all")
        for setting, instead in RESERVED.items():
            if (value := self.settings.trainer[setting]) != self._parser(self.subcommand).get_default(
                f"trainer.{setting}"
            ):
                raise ValueError(f"trainer.{setting} is {value}, but has to be left alone here; use {instead}")
        torch.set_num_threads(self.settings.threads or torch.get_num_threads())

    def instantiate_classes(self) -> None:
        self.plain = self.resolved()
        self._place_data()
        if self.subcommand != "fit":
            return super().instantiate_classes()
        self.cell = describe_cell(self.plain)
        self.run_directory = Path(self.settings.results) / self.cell["directory"]
        if (self.run_directory / store.DONE).exists():
            raise AlreadyDone(str(self.run_directory))
        store.make_directory(self.run_directory)
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
        self.trainer.callbacks.append(CommonMeasures(evaluation.common))  # type: ignore[attr-defined]

    def fit(self, model: Objective, datamodule: BlockData) -> None:
        """Train a run from where it stands to the end of its budget."""
        run = self.run_directory
        try:
            # One rank stands for all.
            lock = FileLock(run / store.LOCK, timeout=0) if self.trainer.is_global_zero else nullcontext()
            with lock, asked_to_stop(self.stop):
                self._fit_locked(model, datamodule, run)
        except Timeout:
            raise ValueError(f"another process is working on {run}; wait for it, or stop it") from None

    def _fit_locked(self, model: Objective, data: BlockData, run: Path) -> None:
        longest = model.encoder.config.max_length
        if data.block_length > longest:
            raise ValueError(
                f"data.block_length {data.block_length} is longer than the encoder's max_length {longest}; set "
                f"model.init_args.encoder.max_length to at least {data.block_length}"
            )
        checkpoints = complete(run / "checkpoints")
        status = Status(run)
        if self.trainer.is_global_zero:
            self._describe_run(model, data, run)
            step = int(checkpoints[-1].stem.removeprefix("step-")) if checkpoints else 0
            store.drop_rows_after(run / store.METRICS, step)
            status.write()
        self._add_callbacks(data, run, status)
        self.trainer.limit_val_batches = 0  # held-out loss is measured at the snapshots, not at epochs
        try:
            self.trainer.fit(model, data, ckpt_path=str(checkpoints[-1]) if checkpoints else None)
        except BaseException as error:
            status.write(state="failed", error=f"{type(error).__name__}: {error}")
            raise
        budget = model.budget_tokens(data.block_length)
        tokens = int(model.ledger.compute()["tokens"])
        if tokens < budget:
            status.write(state="interrupted", step=self.trainer.global_step, tokens=tokens)
            raise Interrupted(f"stopped at {tokens:,} of {budget:,} tokens; run the same command to go on ({run})")
        status.write(state="done", step=self.trainer.global_step, tokens=tokens, budget_tokens=budget)
        if self.trainer.is_global_zero:
            store.write_text(run / store.DONE, "")

    def _describe_run(self, model: Objective, data: BlockData, run: Path) -> None:
        """Write what the run is; keep what a sweep has written into its cell."""
        proof = pairing(model, data, self.trainer)
        if (run / store.PAIRING).exists() and (before := store.read_json(run / store.PAIRING)) != proof:
            changed = [key for key in proof if before.get(key) != proof[key]]
            raise ValueError(
                f"{run} was begun with another {' and '.join(changed)}; resuming would mix two experiments. Restore "
                f"what it was begun with, or delete it to start again"
            )
        store.write_json(run / store.PAIRING, proof)
        store.write_text(run / store.CONFIG, yaml.safe_dump(self.plain, sort_keys=False, allow_unicode=True))
        store.write_json(run / store.ENVIRONMENT, describe(self.trainer, self.settings.seed_everything))
        planned = store.read_json(run / store.CELL) if (run / store.CELL).exists() else {}
        measured = {
            "budget_tokens": model.budget_tokens(data.block_length),
            "nominal_density": model.nominal_density,
            "language": data.language,
            "corpus": data.source,
        }
        store.write_json(run / store.CELL, {**self.cell, **planned, **measured})

    def _add_callbacks(self, data: BlockData, run: Path, status: Status) -> None:
        recorder = Recorder(self.settings.record_every_steps)
        config = self._get(self.config_init, "evaluation")
        snapshots = Snapshots(
            run / "snapshots", config.snapshots, config.first_tokens, recorder, Evaluation(data, config)
        )
        checkpoints = Checkpoints(run / "checkpoints", self.settings.checkpoint_every_steps, self.stop)
        self.trainer.callbacks = [recorder, snapshots, checkpoints, status, *self.trainer.callbacks]  # type: ignore[attr-defined]

    def instantiate_trainer(self, **kwargs: Any) -> pl.Trainer:
        config = self._get(self.config_init, "trainer")
        if self.subcommand == "fit":
            configured = config.get("logger") or []
            others = configured if isinstance(configured, list) else [configured]
            kwargs["logger"] = [MetricsFile(self.run_directory), *(one for one in others if one is not True)]
        kwargs["plugins"] = [*(config.get("plugins") or []), DurableCheckpointIO()]
        return super().instantiate_trainer(**kwargs)


def describe_cell(config: dict[str, Any]) -> dict[str, Any]:
    """What store.CELL says of a run; the hash is that of its resolved configuration.

    Raises:
        ValueError: when a setting of the objective is refused.
    """
    digest = store.content_hash({key: value for key, value in config.items() if key not in NOT_IDENTITY})
    path, arguments = config["model"]["class_path"], config["model"]["init_args"]
    build_arguments(import_object(path), arguments)
    corruption = arguments.get("corruption")
    return {
        "name": config["name"],
        "hash": digest,
        "directory": f"runs/{config['name']}-{digest}",
        "seed": config["seed_everything"],
        "arm": config["name"].removesuffix(f"-s{config['seed_everything']}"),
        "factors": {},
        "objective": path.rpartition(".")[2],
        "mask_rate": corruption["rate"] if corruption else None,
        "corruption_mix": [corruption[part] for part in ("mask", "random", "keep")] if corruption else None,
    }


class PlannedCLI(ObjectiveCLI):
    """Parses and checks a run without touching its data or its directory; `cell` and `plain` say what it is."""

    def _set_seed(self) -> None:
        pass

    def instantiate_classes(self) -> None:
        self.plain = self.resolved()
        self.cell = describe_cell(self.plain)

    def _run_subcommand(self, subcommand: str) -> None:
        pass


@contextmanager
def asked_to_stop(stop: StopRequest) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM into a request to save and stop, while a run lasts."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    stop.signal = None
    before = {number: signal.signal(number, stop.ask) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
