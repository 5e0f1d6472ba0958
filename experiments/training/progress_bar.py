"""How far a run is, on a terminal: tokens read of how many, their rate, the time left, the loss, the learning rate."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import pytorch_lightning as pl
from pytorch_lightning.utilities import rank_zero_only
from tqdm import tqdm

from experiments.training.callbacks import whole_steps
from objectives import Batch
from objectives.lightning_module import TrainingModule

SECONDS_BETWEEN = 1.0
"""At most so often is the bar renewed: its loss waits for the device."""
FORMAT = "{percentage:3.0f}%|{bar}| {n_fmt} of {total_fmt} tokens at {rate_fmt}, {remaining} left{postfix}"

P = ParamSpec("P")
Measured = TypeVar("Measured")


@rank_zero_only
def announce(what: str) -> None:
    """Announce what is about to take time, where standard error is a terminal."""
    if sys.stderr.isatty():
        print(what, file=sys.stderr)


class ProgressBar(pl.Callback):
    """A bar on standard error where that is a terminal, and nothing elsewhere.

    Its loss is that since the bar was last renewed. A resumed run begins where it stands.
    """

    def __init__(self) -> None:
        self.bar: tqdm | None = None
        self.renewed = 0.0
        self.before = (0.0, 0.0)

    def on_train_batch_start(self, trainer: pl.Trainer, module: Any, batch: Batch, batch_idx: int) -> None:
        if self.bar is None:
            batch_tokens = batch.tokens_BT.numel()
            budget = module.objective.budget_tokens(batch.tokens_BT.shape[1])
            self.bar = tqdm(
                initial=module.tokens_read(batch_tokens),
                total=whole_steps(budget, module.tokens_per_step(batch_tokens)),
                unit="",
                unit_scale=True,
                mininterval=0,
                miniters=1,
                dynamic_ncols=True,
                bar_format=FORMAT,
                # None: where standard error is no terminal. Lightning's own bar takes the place of this one.
                disable=True if not trainer.is_global_zero or trainer.progress_bar_callback is not None else None,
            )
            self.before = _loss_sums(module)

    def on_train_batch_end(self, trainer: pl.Trainer, module: Any, outputs: Any, batch: Batch, batch_idx: int) -> None:
        tokens = module.tokens_read(batch.tokens_BT.numel())
        if self.bar is None or self.bar.disable:
            return
        if not (tokens >= self.bar.total or time.monotonic() - self.renewed > SECONDS_BETWEEN):
            return
        nats, weight = _loss_sums(module)
        if weight > self.before[1]:
            loss = (nats - self.before[0]) / (weight - self.before[1])
            rate = trainer.optimizers[0].param_groups[0]["lr"]
            self.bar.set_postfix_str(f"loss {loss:.3f}, lr {rate:.2g}", refresh=False)
        self.bar.update(tokens - self.bar.n)
        self.renewed, self.before = time.monotonic(), (nats, weight)

    def on_train_end(self, trainer: pl.Trainer, module: Any) -> None:
        if self.bar is not None:
            self.bar.close()

    def on_exception(self, trainer: pl.Trainer, module: Any, exception: BaseException) -> None:
        self.on_train_end(trainer, module)

    def evaluating(self, evaluate: Callable[P, Measured]) -> Callable[P, Measured]:
        """`evaluate`, announced by the bar while it lasts; the rate and the time left are those of the training."""

        def announced(*args: P.args, **kwargs: P.kwargs) -> Measured:
            if self.bar is None or self.bar.disable:
                return evaluate(*args, **kwargs)
            before, started = self.bar.postfix, time.time()
            self.bar.set_postfix_str("evaluating")
            measured = evaluate(*args, **kwargs)
            self.bar.last_print_t += time.time() - started  # its clock of the rate
            self.bar.set_postfix_str(before or "")
            return measured

        return announced


def _loss_sums(module: TrainingModule) -> tuple[float, float]:
    """Summed nats and weights of the targets so far, on this device."""
    return module.ledger.nats.item(), module.ledger.weight.item()
