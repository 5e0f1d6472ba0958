"""Minimal pairs as a task, such as those of BLiMP: which of two sentences does a model prefer?

G groups, N pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from experiments.corpora.labelled import LabelledSource
from experiments.data import BlockData
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import Score, error_name, mean_of_ratios, share, with_standard_error
from experiments.evaluation.tasks.parts import Overlap, check_overlap, disjoint
from experiments.evaluation.word_swap import Pair, judge
from experiments.records.quantities import Quantity
from objectives import Objective
from objectives.inference.minimal_pairs import outcome

SHORTER = "fewer_tokens_accuracy"
"""The level of who prefers the sentence with fewer tokens."""


class MinimalPairs(SharedMetric):
    """How often an objective prefers the good sentence of a pair to the bad one, by the first of the sentence scores
    that it offers; a tie counts ½. The mean over groups of pairs, and each group.

    Args:
        task: its name in the records and in reports.
        path: a file or a pattern such as "blimp/*.jsonl": jsonl, csv, tsv or parquet.
        good: the column of the sentence to be preferred.
        bad: that of the other.
        group: the column that names the group of a pair, such as UID or linguistics_term in BLiMP.
        pairs: at most so many of each group, the first ones; all when not given.
        overlap: whether a sentence that is a document that was trained on is an "error", or its pair to "drop".
    """

    def __init__(
        self,
        task: str,
        path: str,
        good: str = "sentence_good",
        bad: str = "sentence_bad",
        group: str = "UID",
        pairs: int | None = None,
        overlap: Overlap = "error",
    ) -> None:
        if pairs is not None and pairs < 1:
            raise ValueError(f"pairs={pairs} of each group must be at least 1; leave it out to measure all")
        check_overlap(overlap)
        self.source = LabelledSource("pair", text=good, second_text=bad, label=group)
        self.task, self.path, self.most = task, path, pairs
        self.overlap: Overlap = overlap
        self.pairs: dict[str, list[Pair]] = {}

    def prepare(self, data: BlockData) -> None:
        """Reads the pairs. Raises ValueError, naming the task, when one of them cannot be scored."""
        super().prepare(data)
        text = data.pretraining_text
        if text is None:
            return
        longest = data.block_length - 2
        try:
            kept, self.remarks = disjoint({"test": self.source.read(self.path)}, text.hashes_N, self.overlap)
            for one in kept["test"]:
                members = self.pairs.setdefault(str(one.label), [])
                if len(members) == self.most:
                    continue
                good, bad = text.tokenizer.encode_batch(list(one.texts))
                if not 0 < min(len(good), len(bad)) <= max(len(good), len(bad)) <= longest:
                    raise ValueError(
                        f"{one.texts[0][:60]!r} and {one.texts[1][:60]!r} have {len(good)} and {len(bad)} tokens, but "
                        f"a sentence needs one, and a block has room for {longest}; leave the pair out"
                    )
                members.append((good, bad))
            if not self.pairs:
                raise ValueError(f"{self.path} has no pairs; give another file")
        except ValueError as error:
            raise ValueError(f"the task {self.task}: {error}") from error

    def quantities(self) -> list[Quantity]:
        if not self.pairs:
            return []
        name, count = self._name("accuracy"), sum(map(len, self.pairs.values()))
        even = sum(len(good) == len(bad) for pairs in self.pairs.values() for good, bad in pairs)
        description = (
            f"How often an arm prefers the good sentence of a pair, in {count:,} pairs, of which {even:,} have equally "
            f"many tokens on both sides; the mean over {len(self.pairs)} groups; a tie counts ½. Each arm scores "
            f"sentences in its own way."
        )
        description = " ".join([description, *(f"{remark}." for remark in self.remarks)])
        score = Quantity(
            name,
            f"{self.task}, accuracy",
            "accuracy",
            better="higher",
            comparable="all",
            chance=0.5,
            best=1.0,
            description=description,
        )
        shorter = Quantity(self._name(SHORTER), "fewer tokens", "accuracy", level_of=name)
        found = [*with_standard_error(score), *with_standard_error(shorter)]
        found.append(Quantity(self._name("ties"), f"{self.task}, ties", "share of pairs"))
        for group, pairs in self.pairs.items():
            found += with_standard_error(
                Quantity(
                    self._name(f"{group}/accuracy"),
                    f"{self.task}, {group}, accuracy",
                    "accuracy",
                    better="higher",
                    comparable="all",
                    headline=False,
                    chance=0.5,
                    best=1.0,
                    figure=f"task/{self.task}/groups",
                    description=f"Of {len(pairs):,} pairs; a tie counts ½.",
                )
            )
        return found

    def measure(self, objective: Objective) -> dict[str, float]:
        if not self.pairs:
            raise NotMeasured("the data stand for no text, which a task is made of")
        found: dict[str, float] = {}
        judged = judge(objective, [pair for pairs in self.pairs.values() for pair in pairs])
        if judged is None:
            names = [one.name for one in self.quantities() if not one.name.startswith(self._name("fewer"))]
            return dict.fromkeys(names, math.nan) | self._shorter()
        left = iter(judged)
        outcomes = {group: [next(left) for _ in pairs] for group, pairs in self.pairs.items()}
        for group, members in outcomes.items():
            name = self._name(f"{group}/accuracy")
            found[name], found[error_name(name)] = share(members, [1.0] * len(members))
        name = self._name("accuracy")
        found[name], found[error_name(name)] = mean_over_groups(list(outcomes.values()))
        return found | {self._name("ties"): judged.count(0.5) / len(judged)} | self._shorter()

    def _shorter(self) -> dict[str, float]:
        name = self._name(SHORTER)
        lengths = [[outcome(-len(good), -len(bad)) for good, bad in pairs] for pairs in self.pairs.values()]
        accuracy, error = mean_over_groups(lengths)
        return {name: accuracy, error_name(name): error}

    def _name(self, score: str) -> str:
        return f"task/{self.task}/{score}"


def mean_over_groups(outcomes: Sequence[Sequence[float]]) -> tuple[Score, float]:
    """The mean of the groups' accuracies, and its standard error over pairs: those of `share`, put together."""
    group_N = torch.tensor([place for place, group in enumerate(outcomes) for _ in group])
    right_N1 = torch.tensor([one for group in outcomes for one in group], dtype=torch.float64)[:, None]
    member_NG = torch.nn.functional.one_hot(group_N, len(outcomes)).double()
    score, _ = mean_of_ratios(right_N1 * member_NG, member_NG)
    errors = [share(group, [1.0] * len(group))[1] for group in outcomes]
    return score, math.hypot(*errors) / len(errors)
