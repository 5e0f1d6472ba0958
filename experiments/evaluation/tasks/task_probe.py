"""A downstream task: labelled texts of yours, and a linear probe that learns their labels from a frozen encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.corpora.labelled import Kind, LabelledSource
from experiments.data import BlockData
from experiments.evaluation.baselines import token_counts
from experiments.evaluation.features import Pooling, check_use, features, whole_text
from experiments.evaluation.linear_probe import IMBALANCED, classifier, labels_of, probe
from experiments.evaluation.metric import NotMeasured, SharedMetric
from experiments.evaluation.standard_errors import with_standard_error
from experiments.evaluation.tasks.entities import are_bio
from experiments.evaluation.tasks.items import Items, encode_items
from experiments.evaluation.tasks.parts import Overlap, check_overlap, disjoint
from experiments.evaluation.tasks.scores import OF_ENTITIES, OF_TAGS, OF_TEXTS, UNITS, task_scores
from experiments.records.quantities import Quantity
from objectives import Objective

STRENGTHS = (0.01, 0.1, 1.0, 10.0)
"""Inverse strengths of the penalty, of which a validation part chooses."""
BASELINES = {"majority": "majority class", "bag_of_tokens": "bag of tokens"}
ITEMS = {"sequence": "texts", "pair": "pairs", "tags": "words"}


class TaskProbe(SharedMetric):
    """A linear probe of the frozen encoder on a task of yours, beside the majority class and a bag of tokens.

    Each part is the name or pattern of files: csv, tsv, jsonl or parquet and, for tags, CoNLL and CoNLL-U. With `path`
    it is a split of a data set of the Hugging Face hub, of a local folder with the same layout, or of a labelled task
    of a corpus.

    Args:
        task: its name in the records and in reports.
        kind: "sequence" (a label for each text), "pair" (for each pair of texts) or "tags" (for each word).
        train: what the probe learns from.
        test: what it is tested on.
        validation: what the strength of its penalty is chosen by; C = 1 where there is none.
        text: the column of the text, or of its list of words; "text" when not given. In a CoNLL file the number of the
            field, from 1; the first when not given.
        second_text: the column of the second text of a pair.
        label: the column of the label, or of the list of tags; "label" when not given. In a CoNLL file the number of
            the field, the last when not given; in CoNLL-U its name, UPOS when not given.
        path: a name on the hub, a folder, or the class path of a corpus.
        name: the configuration of that data set, or the labelled task of that corpus.
        format: jsonl, csv, tsv, parquet, conll or conllu; by the files' suffix when not given.
        header: whether the first row of csv and tsv files names the columns; otherwise they are numbered from 1.
        layers: so many of the last layers are read, their hidden states side by side.
        pooling: what stands for a text: the "mean" over its tokens (when not given), the "first" position, which is
            that of [CLS], or its "last" token. What stands for a word: its "first" token (when not given), its "last",
            or the "mean" of all.
        overlap: whether a text that is in two parts, or is a document that was trained on, is an "error" or to "drop".
    """

    def __init__(
        self,
        task: str,
        kind: Kind,
        train: str,
        test: str,
        validation: str | None = None,
        text: str | int | None = None,
        second_text: str | int | None = None,
        label: str | int | None = None,
        path: str | None = None,
        name: str | None = None,
        format: str | None = None,
        header: bool = True,
        layers: int = 1,
        pooling: Pooling | None = None,
        overlap: Overlap = "error",
    ) -> None:
        self.source = LabelledSource(kind, text, second_text, label, path, name, format, header)
        self.task, self.kind, self.layers = task, kind, layers
        self.pooling: Pooling = pooling or ("first" if kind == "tags" else "mean")
        check_use(layers, self.pooling)
        check_overlap(overlap)
        self.overlap: Overlap = overlap
        self.files = {"train": train, "validation": validation, "test": test}
        self.items: dict[str, Items] = {}

    def prepare(self, data: BlockData) -> None:
        """Reads the task. Raises ValueError, naming the task, when it cannot be learned or tested."""
        super().prepare(data)
        text = data.pretraining_text
        if text is None:
            return
        try:
            found = {part: self.source.read(file) for part, file in self.files.items() if file is not None}
            parts, self.remarks = disjoint(found, text.hashes_N, self.overlap)
            longest = data.block_length - 2
            self.items = {part: encode_items(texts, text.tokenizer, longest) for part, texts in parts.items()}
            self._check()
        except ValueError as error:
            raise ValueError(f"the task {self.task}: {error}") from error

    def _check(self) -> None:
        for part, items in self.items.items():
            if not any(items.placed):
                raise ValueError(f"{part} ({self.files[part]}) has no text with a token; give another file")
        train = Counter(self.items["train"].labels)
        if len(train) < 2:
            raise ValueError(f'train has one class alone, "{next(iter(train))}"; a classifier needs two')
        tested = labels_of(self.items["test"].texts)
        if not train.keys() & set(tested):
            raise ValueError(
                f"no label of test ({_named(tested)}) is one of train ({_named(train)}); the labels of both have to be "
                f"written alike, and those of test to be known"
            )
        bio = self.kind == "tags" and are_bio(train)
        self.wanted = OF_ENTITIES if bio else OF_TAGS if self.kind == "tags" else OF_TEXTS
        self.majority = train.most_common(1)[0][0]
        self.otherwise = "O" if bio else self.majority
        self.classes = len(train)
        self.imbalanced = tested.count(self.majority) >= IMBALANCED * len(tested)
        self.unseen = sum(label not in train for label in tested)

    def quantities(self) -> list[Quantity]:
        if not self.items:
            return []
        headline = "entity_f1" if "entity_f1" in self.wanted else "accuracy"
        if self.imbalanced and "macro_f1" in self.wanted:
            headline = "macro_f1"
        found: list[Quantity] = []
        for score in self.wanted:
            name, unit = self._name(score), UNITS[score]
            found += with_standard_error(
                Quantity(
                    name,
                    f"{self.task}, {unit}",
                    unit,
                    better="higher",
                    comparable="all",
                    headline=score == headline,
                    best=1.0,
                    description=self._description(),
                )
            )
            for baseline, words in BASELINES.items():
                found += with_standard_error(Quantity(self._name(f"{baseline}_{score}"), words, unit, level_of=name))
        return found

    def measure(self, objective: Objective) -> dict[str, float]:
        if not self.items:
            raise NotMeasured("the data stand for no text, which a task is made of")
        inputs = {part: self._features(objective, items) for part, items in self.items.items()}
        found = {"": self._scores(self._predicted(inputs, probe)), **self._levels}
        return {self._name(f"{level}{score}"): value for level, by in found.items() for score, value in by.items()}

    @cached_property
    def _levels(self) -> dict[str, dict[str, float]]:
        """Scores of the baselines, by the beginning of their names."""
        counts = {part: self._counts(items) for part, items in self.items.items()}
        majority = [self.majority] * len(self.items["test"].placed)
        return {
            "majority_": self._scores(majority),
            "bag_of_tokens_": self._scores(self._predicted(counts, classifier)),
        }

    def _predicted(self, inputs: Mapping[str, Any], model: Callable[[float], Any]) -> list[str]:
        """A label for each item of the test part, those without a token included."""
        strengths = STRENGTHS if "validation" in inputs else (1.0,)
        fitted = [model(c).fit(inputs["train"], self.items["train"].labels) for c in strengths]
        if len(fitted) > 1:
            labels = np.array(self.items["validation"].labels)
            fitted.sort(key=lambda one: np.mean(one.predict(inputs["validation"]) == labels), reverse=True)
        return self.items["test"].with_others(fitted[0].predict(inputs["test"]), self.otherwise)

    def _scores(self, named: list[str]) -> dict[str, float]:
        return task_scores(named, self.items["test"].texts, self.wanted)

    def _features(self, objective: Objective, items: Items) -> NDArray[np.float32]:
        """A row for each placed item."""
        if self.kind == "tags":
            spans = [[(start + 1, end + 1) for start, end in row] for row in items.spans]
        else:
            spans = [[whole_text(ids, self.pooling)] for ids in items.rows]
        found = features(objective, items.rows, spans, self.pooling, self.layers)
        return np.concatenate(_compared(found), axis=1) if self.kind == "pair" else found

    def _counts(self, items: Items) -> Any:
        """A sparse row for each placed item."""
        from scipy.sparse import hstack

        found = token_counts(items.bags, self.data.vocabulary.size)
        return hstack(_compared(found), "csr") if self.kind == "pair" else found

    def _name(self, score: str) -> str:
        return f"task/{self.task}/{score}"

    def _description(self) -> str:
        train, test = self.items["train"], self.items["test"]
        cut, lost = sum(one.cut for one in self.items.values()), test.placed.count(False)
        remarks = [
            *self.remarks,
            *([f"{cut} texts are longer than a block, whose length is read of them"] if cut else []),
            *([f'{lost} test {ITEMS[self.kind]} without a token count as named "{self.otherwise}"'] if lost else []),
            *([f"{self.unseen} test items have a label that train has not, and count as wrong"] if self.unseen else []),
        ]
        layers = f" of the last {self.layers} layers" if self.layers > 1 else ""
        return " ".join(
            [
                f"A logistic regression on frozen hidden states{layers} (pooling: {self.pooling}), for {self.classes} "
                f"classes: learned from {sum(train.placed):,} {ITEMS[self.kind]}, tested on {len(test.placed):,} in "
                f"{len(test.texts):,} texts.",
                *(f"{remark[0].upper()}{remark[1:]}." for remark in remarks),
            ]
        )


def _compared(found: Any) -> list[Any]:
    """What a linear classifier needs of two texts that follow each other: both, their difference and their product
    (Conneau and Kiela 2018)."""
    one, other = found[0::2], found[1::2]
    return [one, other, abs(one - other), one * other]


def _named(labels: Any, most: int = 5) -> str:
    different = sorted(set(labels))
    return ", ".join(different[:most]) + (", …" if len(different) > most else "")
