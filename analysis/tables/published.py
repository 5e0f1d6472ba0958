"""Published scores that a report shows next to the measured ones: facts from the papers named.

They were obtained with models and corpora a thousand times larger: compare orderings and signs, not values.
"""

from __future__ import annotations

from dataclasses import dataclass

from analysis.records.factors import Setting

BERT = (
    "Devlin et al. 2019, BERT: Pre-training of Deep Bidirectional Transformers for Language Understanding, "
    "NAACL, Table 8 (mix: mask/random/keep)"
)
WETTIG = "Wettig et al. 2023, Should You Mask 15% in Masked Language Modeling?, EACL (large model)"
GISSEROT = (
    "Gisserot-Boukhlef et al. 2025, Should We Still Pretrain Encoders with Masked Language Modeling?, "
    "arXiv:2507.00994 (610M parameters, 40 % masked, one pretraining run for each score)"
)

ANKNER = "Ankner et al. 2024, Dynamic Masking Rate Schedules for MLM Pretraining, EACL"
ELECTRA = (
    "Clark et al. 2020, ELECTRA: Pre-training Text Encoders as Discriminators Rather Than Generators, ICLR "
    "(BERT, and All-Tokens MLM)"
)


@dataclass(frozen=True)
class PublishedScores:
    """A table of a paper: scores by the factor it varies."""

    citation: str
    metrics: tuple[str, ...]
    scores: dict[Setting, tuple[float, ...]]

    def at(self, setting: Setting) -> tuple[float, ...] | None:
        """The scores at a setting, equal up to rounding; None when the paper has no such setting."""
        return next((row for at, row in self.scores.items() if _rounded(at) == _rounded(setting)), None)


def _rounded(setting: Setting) -> Setting:
    return setting if isinstance(setting, str) else round(setting, 4)


MIX = PublishedScores(
    BERT,
    ("MNLI fine-tuned", "NER fine-tuned", "NER features"),
    # Keys are mask/random/keep, our order; the paper prints mask, same, random.
    {
        "80/10/10": (84.2, 95.4, 94.9),
        "100/0/0": (84.3, 94.9, 94.0),
        "80/20/0": (84.1, 95.2, 94.6),
        "80/0/20": (84.4, 95.2, 94.7),
        "0/80/20": (83.7, 94.8, 94.6),
        "0/100/0": (83.6, 94.9, 94.6),
    },
)

MASK_RATE = PublishedScores(
    WETTIG,
    ("MNLI", "QNLI", "QQP", "SST-2"),
    {
        0.15: (84.2, 90.9, 87.8, 93.3),
        0.20: (84.1, 91.3, 87.9, 92.7),
        0.30: (84.2, 91.6, 88.0, 93.0),
        0.40: (84.5, 91.6, 88.1, 92.8),
        0.50: (84.1, 91.1, 88.1, 92.7),
        0.60: (83.2, 90.7, 87.8, 92.6),
        0.70: (82.3, 89.4, 87.5, 91.9),
    },
)

OBJECTIVE = PublishedScores(
    GISSEROT,
    ("sequence, MLM", "sequence, CLM", "token, MLM", "token, CLM"),
    # Keys are thousands of training steps.
    {
        1.0: (66.91, 68.32, 83.15, 87.01),
        5.0: (72.49, 78.56, 89.36, 91.17),
        10.0: (81.37, 80.58, 91.31, 92.08),
        20.0: (85.57, 82.70, 92.02, 92.63),
        40.0: (86.40, 83.48, 92.02, 92.65),
    },
)

SCHEDULE = PublishedScores(
    ANKNER,
    ("GLUE",),
    {"15 %": (83.83,), "30 %": (84.12,), "30 → 15 %, linear": (84.29,), "15 → 30 %, linear": (83.71,)},
)

PREDICTION_RATE = PublishedScores(ELECTRA, ("GLUE",), {0.15: (82.2,), 1.0: (84.3,)})

SHARE_OF_CLM = PublishedScores(
    GISSEROT,
    ("sequence classification",),
    {0.0: (87.00,), 0.25: (87.85,), 0.5: (87.58,), 0.75: (87.06,), 1.0: (83.58,)},
)

BY_FACTOR = {
    "mask rate": MASK_RATE,
    "corruption mix": MIX,
    "rate schedule": SCHEDULE,
    "prediction rate": PREDICTION_RATE,
    "share of CLM": SHARE_OF_CLM,
}
"""Tables of papers by the factor that they vary."""
