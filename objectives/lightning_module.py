"""What Lightning trains: an objective with its ledger, its optimiser, and the learning rate of each step.

Apart from the objective, because importing Lightning takes seconds that a trained model has no use for.

B blocks, T positions.
"""

from __future__ import annotations

import math
from typing import Any

import pytorch_lightning as pl
import torch
from torch import Tensor, nn

from objectives.base import Objective
from objectives.construction.identity import describe_objective, refuse_other_settings
from objectives.training.divergence import GradientWatch
from objectives.training.ledger import Ledger
from objectives.training.optimizer import spent_share, steps_until
from objectives.training.randomness import Key
from objectives.view import Batch


class TrainingModule(pl.LightningModule):
    """Trains an objective; its state, and so that of checkpoints, is that of the objective.

    The loss that is differentiated is the sum of token losses over a constant, the nominal number of targets of a
    batch, so every supervised token of an optimiser step weighs the same under accumulation and over ranks
    (Lightning averages micro-batches; pytorch-lightning#20350). Batches must be of equal size.

    A token is counted once, however many views read it; operations are counted for each view, which costs a body and a
    head of its own. Batches stay on the host, where views are made: a GPU is handed what it computes, and never waited
    for in a step.
    """

    def __init__(self, objective: Objective) -> None:
        super().__init__()
        self.objective = objective
        self.ledger = Ledger()
        self.gradient_watch = GradientWatch()
        if objective.shared.compile:
            objective.encoder.compile(dynamic=True)  # one for all sizes, whatever was met before

    def state_dict(self, *arguments: Any, **options: Any) -> Any:
        return self.objective.state_dict(*arguments, **options)

    def load_state_dict(self, state_dict: Any, *arguments: Any, **options: Any) -> Any:
        return self.objective.load_state_dict(state_dict, *arguments, **options)

    def transfer_batch_to_device(self, batch: Batch, device: torch.device, dataloader_idx: int) -> Batch:
        """Leave it on the host."""
        return batch

    def tokens_per_step(self, batch_tokens: int) -> int:
        """Tokens that an optimiser step reads, over all micro-batches and ranks, in batches of `batch_tokens`."""
        return batch_tokens * self.trainer.accumulate_grad_batches * self.trainer.world_size

    def tokens_read(self, batch_tokens: int) -> int:
        """Tokens that all steps so far have read: what learning rate, stop, DONE, resumption and status go by."""
        return self.trainer.global_step * self.tokens_per_step(batch_tokens)

    def key(self, batch: Batch) -> Key:
        """The key of a training batch, whose step has not been taken."""
        tokens, length = batch.tokens_BT.numel(), batch.tokens_BT.shape[1]
        spent = spent_share(self.tokens_read(tokens), self.objective.budget_tokens(length))
        return batch.key(self.objective.shared.seed, spent)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Both are functions of the step alone, so that nothing is lost when a run is resumed.
        per_step = self.tokens_per_step(batch.tokens_BT.numel())
        budget, step = self.objective.budget_tokens(batch.tokens_BT.shape[1]), self.trainer.global_step
        resets = [steps_until(share, budget, per_step) for share in self.objective.optimizer_resets]
        for optimizer in self.trainer.optimizers:
            if step in resets:
                optimizer.state.clear()
            for group in optimizer.param_groups:
                group["lr"] = self.rate_of_step(step, budget, per_step)

    def rate_of_step(self, step: int, budget: int, tokens_per_step: int) -> float:
        """Learning rate of the step before which `step` ones have been taken."""
        restarts = [steps_until(share, budget, tokens_per_step) for share in self.objective.schedule_restarts]
        start = max((one for one in restarts if one <= step), default=0) * tokens_per_step
        end = min((one * tokens_per_step for one in restarts if one > step), default=budget)
        return self.objective.shared.optimizer.rate((step + 1) * tokens_per_step - start, end - start)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        objective, tokens_BT = self.objective, batch.tokens_BT
        key = self.key(batch)
        views, densities = objective.views(tokens_BT, key), objective.densities(key.spent)
        if len(views) != len(densities):
            raise ValueError(f"{type(objective).__name__} makes {len(views)} views, but has {len(densities)} densities")
        self.ledger.update(tokens=tokens_BT.numel())
        losses = []
        for view in views:
            found = objective.view_loss(view, tokens_BT)
            losses.append(found.loss)
            self.ledger.update(
                nats=found.nats,
                weight=found.weight,
                targets=found.targets,
                selected=found.selected,
                corrupted=found.corrupted,
                flops=found.flops,
            )
        total = torch.stack(losses).sum()
        if objective.shared.reduction == "mean":
            return total / (tokens_BT.numel() * objective.nominal_weight(key.spent))
        return total * (self.trainer.accumulate_grad_batches * self.trainer.world_size)

    @property
    def _scales_loss(self) -> bool:
        """Mixed precision of 16 bits looks for overflow itself: it leaves the step out, and scales less."""
        return self.trainer.precision == "16-mixed"

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return self.objective.shared.optimizer.build(self.objective, fused=not self._scales_loss)

    def configure_gradient_clipping(self, optimizer: Any, *_: Any, **__: Any) -> None:
        """Clip the gradient of a step. A step whose gradient is not finite is not taken, nor is any later one.

        Raises:
            Diverged: on a CPU, which need not be waited for; elsewhere `gradient_watch.check` does.
        """
        norm = nn.utils.clip_grad_norm_(self.parameters(), self.objective.shared.optimizer.gradient_clip or math.inf)
        if not self._scales_loss:
            self.gradient_watch.watch(optimizer, norm, self.trainer.global_step)
            if norm.device.type == "cpu":
                self.gradient_watch.check()

    def on_train_batch_end(self, outputs: Any, batch: Batch, batch_idx: int) -> None:
        budget = self.objective.budget_tokens(batch.tokens_BT.shape[1])
        if self.tokens_read(batch.tokens_BT.numel()) >= budget:
            self.trainer.should_stop = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint["objective"] = describe_objective(self.objective)
        checkpoint["ledger"] = self.ledger.compute()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        refuse_other_settings(self.objective, checkpoint)
        # The saved totals are those of all ranks; one rank carries them on.
        if self.global_rank == 0:
            self.ledger.restore(checkpoint["ledger"])
