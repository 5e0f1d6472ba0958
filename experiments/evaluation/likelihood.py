"""Likelihood: how probable whole sentences are, in nats per token, for all objectives that say so or bound it.

Causal models say it by the chain rule, masked diffusion bounds it. Both are of the same tokens, without special ones.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from experiments.corpora.base import fraction
from experiments.data import BlockData
from experiments.data.evaluation_inputs import TextSentences
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import Score, cluster_sums, error_name, folds, ratio, with_standard_error
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.inference.language_model import ObjectiveLanguageModel
from objectives.inference.scoring import score_sentences, total

METHODS = ("chain_rule", "elbo")
"""By the first of them that an objective offers."""
NATS = "nats per token"


class Likelihood(SharedMetric):
    """−log p of validation sentences, or an upper bound on it, in nats per token; on known rules beside the exact one.

    Args:
        sentences: how many, at most; whole blocks of a generated language. Longer ones than a block of text are left
            out.
        samples: of the bound, for each sentence; an even number. What they leave to chance differs from sentence to
            sentence and is a part of the standard error.
    """

    def __init__(self, sentences: int = 256, samples: int = 8) -> None:
        if sentences < 2 or samples < 2 or samples % 2:
            raise ValueError(
                f"Likelihood takes at least 2 sentences and an even number of samples, but got sentences={sentences}, "
                f"samples={samples}"
            )
        self.count, self.samples = sentences, samples

    def prepare(self, data: BlockData) -> None:
        super().prepare(data)
        self.sentences = validation_sentences(data, self.count)
        self.known = data.sentence_nats(self.sentences)

    def quantities(self) -> list[Quantity]:
        description = (
            f"Of {len(self.sentences)} validation sentences. That of causal models is exact, by the chain rule, of "
            f"tokens whose number the model does not know. A masked model is told the number, and has an upper bound: "
            f"its own −log p may be lower, never higher, up to the luck of {self.samples} samples a sentence."
        )
        return [
            *with_standard_error(
                Quantity(
                    "likelihood/nats_per_token",
                    "negative log-likelihood or upper bound",
                    NATS,
                    "lower",
                    "all",
                    description=description,
                )
            ),
            *with_standard_error(
                Quantity(
                    "likelihood/entropy",
                    "entropy (Bayes loss)",
                    NATS,
                    level_of="likelihood/nats_per_token",
                    bounds="all",
                    description="−log p of the same sentences by the rules of the language: no model reaches less on "
                    "average.",
                )
            ),
        ]

    def measure(self, objective: Objective) -> dict[str, float]:
        method = next((one for one in METHODS if one in objective.traits.scores), None)
        if method is None:
            raise NotMeasured(f"{objective.traits.name} neither defines nor bounds the probability of a sentence")
        if not self.sentences:
            raise NotMeasured("the validation text has no sentence that fits into a block")
        model = ObjectiveLanguageModel(objective, method)
        scores = score_sentences(model, self.sentences, method, samples=self.samples)
        nats_S = torch.tensor([-total(one) for one in scores], dtype=torch.float64)
        measured = self._per_token("nats_per_token", nats_S)
        return measured if self.known is None else measured | self._per_token("entropy", self.known)

    def _per_token(self, name: str, nats_S: Tensor) -> dict[str, float]:
        lengths_S = torch.tensor(list(map(len, self.sentences)))
        value, error = (Score(math.nan), math.nan)
        if nats_S.isfinite().all():  # of a diverged model there is no likelihood
            value, error = ratio(cluster_sums(nats_S, lengths_S, folds(torch.arange(len(lengths_S)))))
        return {f"likelihood/{name}": value, f"likelihood/{error_name(name)}": error}


def validation_sentences(data: BlockData, count: int) -> list[list[int]]:
    """Up to `count` validation sentences as token ids, none empty or longer than a block takes; those of a text all
    different, and in the order of a hash, so that they come from all over the corpus."""
    sentences = data.validation_sentences(count)
    if not isinstance(sentences, TextSentences):
        return sentences
    texts = sorted(set(sentences.texts), key=lambda text: fraction(text, "order"))
    found: list[list[int]] = []
    while texts and len(found) < count:
        some, texts = texts[:count], texts[count:]
        found += (ids for ids in sentences.tokenizer.encode_batch(some) if 0 < len(ids) <= data.block_length - 2)
    return found[:count]
