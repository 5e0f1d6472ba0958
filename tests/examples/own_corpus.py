"""A corpus with a labelled task: sentences in which the verb agrees with a subject that stands apart from it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from experiments.corpora.base import Example, LabelledTask, SplitByHash, digest_of, fraction, labelled_task

NOUNS = ("cat", "dog", "bird", "horse", "girl", "boy", "friend", "teacher")
VERBS = ("run", "sleep", "sing", "wait")
LINKS = ("near", "behind", "beside")


class Agreement(SplitByHash):
    """ "the cats near the dog run." and the like; a document is a sentence.

    Labelled task "number": whether the subject is one or many.

    Args:
        validation: share of the sentences in the validation split.
        probe: share of the sentences in the probe split.
    """

    language = "en"

    def __init__(self, validation: float = 0.1, probe: float = 0.2) -> None:
        super().__init__(validation, probe)

    def texts(self) -> Iterator[str]:
        return (sentence for sentence, _ in _labelled())

    def fingerprint(self) -> str:
        return digest_of("Agreement", 1, NOUNS, VERBS, LINKS, self.validation, self.probe)

    def labelled_tasks(self) -> list[LabelledTask]:
        halves: dict[bool, list[Example]] = {True: [], False: []}
        for sentence, label in _labelled():
            if self.split_of(sentence) == "probe":
                halves[fraction(sentence, "half") < 0.5].append(Example(sentence, label))
        return [labelled_task("number", "sequence", halves[True], halves[False], (60, 60))]


def _labelled() -> Iterator[tuple[str, str]]:
    """Every sentence once, with the number of its subject."""
    for one, link, other, verb in itertools.product(NOUNS, LINKS, NOUNS, VERBS):
        for many, others in itertools.product((False, True), repeat=2):
            subject, object_ = one + "s" * many, other + "s" * others
            yield f"the {subject} {link} the {object_} {verb}{'' if many else 's'}.", "many" if many else "one"
