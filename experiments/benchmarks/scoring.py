"""Speed of scoring against minicons (Misra 2022): one process, the same random weights, the same sentences.

    python -m experiments.benchmarks.scoring [--sentences 200] [--width 128] [--depth 4] [--repeats 5]

Our encoder with random weights scores sentences of the King James Bible of 8 to 16 tokens by PLL and by the chain rule.
minicons scores them with the same weights in the Hugging Face classes that `clm-vs-mlm export` writes, at its best
batch size, and so do our functions for Hugging Face models. All start from text. The ways take turns, the best repeat
of each counts, and their scores must agree.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from minicons import scorer
from transformers import AutoTokenizer

from experiments.corpora import KingJames
from experiments.corpora.base import split_sentences
from experiments.inference.export import write_tokenizer
from experiments.text.tokenizer import Tokenizer
from objectives import CLM, MLM, Budget, Corruption, EncoderConfig, Objective, OptimizerConfig
from objectives.inference.huggingface_model import HuggingFaceLanguageModel
from objectives.inference.language_model import LanguageModel, ObjectiveLanguageModel
from objectives.inference.scoring import score_sentences, total
from tests.support.exported import exported

BATCH_SIZES = (1, 4, 8, 16, 32, 64, 128, 200)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=200)
    parser.add_argument("--vocabulary", type=int, default=4096)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--heads", type=int, default=4)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args(arguments)
    corpus = KingJames()
    tokenizer = Tokenizer.train("bpe", options.vocabulary, corpus.texts())
    sentences = [sentence for text in corpus.texts() for sentence in split_sentences(text)]
    lengths = map(len, tokenizer.encode_batch(sentences))
    chosen = [(text, length) for text, length in zip(sentences, lengths, strict=True) if 8 <= length <= 16]
    chosen = chosen[: options.sentences]
    print(
        f"{len(chosen)} sentences of {sum(length for _, length in chosen) / len(chosen):.1f} tokens, vocabulary "
        f"{tokenizer.size}, width {options.width}, depth {options.depth}, {torch.get_num_threads()} threads"
    )
    config = EncoderConfig(width=options.width, depth=options.depth, heads=options.heads)
    shared: dict[str, Any] = {
        "encoder": config,
        "vocabulary": tokenizer.vocabulary(),
        "budget": Budget(tokens=1),
        "optimizer": OptimizerConfig(),
    }
    masked, causal = MLM(Corruption(), **shared), CLM(**shared)
    for objective in (masked, causal):
        compare(objective.eval(), tokenizer, [text for text, _ in chosen], options.repeats)


def compare(objective: Objective, tokenizer: Tokenizer, sentences: list[str], repeats: int) -> None:
    """Time an objective's own kind of score in all ways and print the ratios."""
    method = objective.traits.scores[0]
    model, causal = exported(objective), method == "chain_rule"
    with tempfile.TemporaryDirectory() as folder:
        write_tokenizer(tokenizer, objective.encoder.config.max_length, causal, Path(folder))
        exported_tokenizer = AutoTokenizer.from_pretrained(folder)
    language_models = {
        "ours": ObjectiveLanguageModel(objective),
        "ours, through Hugging Face": HuggingFaceLanguageModel(model, exported_tokenizer, causal),
    }
    minicons = make_minicons(model, exported_tokenizer, causal)
    ways: dict[str, Callable[[], list[float]]] = {
        name: partial(score_by_us, language_model, tokenizer, sentences, method)
        for name, language_model in language_models.items()
    }
    ways |= {f"minicons {size}": partial(score_by_minicons, minicons, sentences, size) for size in BATCH_SIZES}
    best = best_seconds(ways, repeats)
    fastest = min((name for name in ways if name.startswith("minicons")), key=best.__getitem__)
    print(f"\n{method}: fastest {fastest} with {1000 * best[fastest]:.0f} ms")
    for name in language_models:
        print(f"{name}: {1000 * best[name]:.0f} ms, {best[fastest] / best[name]:.2f} times as fast")


def make_minicons(model: Any, tokenizer: Any, causal: bool) -> Any:
    """The scorer of minicons for a Hugging Face model."""
    if causal:
        return scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    tokenizer.batch_encode_plus = tokenizer.__call__  # gone in transformers 5, but minicons 0.3.39 calls it
    return scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)


def score_by_us(model: LanguageModel, tokenizer: Tokenizer, sentences: list[str], method: str) -> list[float]:
    return [total(scores) for scores in score_sentences(model, tokenizer.encode_batch(sentences), method)]


def score_by_minicons(minicons: Any, sentences: list[str], batch_size: int) -> list[float]:
    batches = (sentences[start : start + batch_size] for start in range(0, len(sentences), batch_size))
    return [value for batch in batches for value in minicons.sequence_score(batch, reduction=_sum)]


def best_seconds(ways: Mapping[str, Callable[[], list[float]]], repeats: int) -> dict[str, float]:
    """The shortest time of each way to score. Raises SystemExit when their scores differ."""
    best = dict.fromkeys(ways, float("inf"))
    expected = next(iter(ways.values()))()
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            values = way()
            best[name] = min(best[name], time.perf_counter() - start)
            worst = max(abs(a - b) for a, b in zip(values, expected, strict=True))
            if worst > 1e-3:
                raise SystemExit(f"{name} differs by {worst} nats")
    return best


def _sum(scores: torch.Tensor) -> float:
    return scores.double().sum().item()


if __name__ == "__main__":
    main()
