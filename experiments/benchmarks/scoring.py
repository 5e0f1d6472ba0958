"""Speed of scoring against minicons (Misra 2022), one process, the same random weights, the same sentences.

    python -m experiments.benchmarks.scoring [--sentences 200] [--width 128] [--depth 4] [--repeats 5]

Our encoder with random weights scores sentences of the King James Bible of 8 to 16 tokens by PLL and by chain rule;
minicons scores them with the same weights in the Hugging Face classes that `clm-vs-mlm export` writes, at its best
batch size, and so does our language_model of Hugging Face models. All begin with text. Repeats take turns, the best of each
counts, and the scores must agree.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from minicons import scorer
from tokenizers.processors import TemplateProcessing

from experiments.corpora import KingJames
from experiments.corpora.base import split_sentences
from experiments.inference.export import huggingface_tokenizer
from experiments.text.tokenizer import Tokenizer
from objectives import CLM, MLM, Budget, Corruption, EncoderConfig, Objective, OptimizerConfig
from objectives.inference.huggingface_export import to_huggingface
from objectives.inference.huggingface_model import HuggingFaceLanguageModel
from objectives.inference.language_model import LanguageModel, ObjectiveLanguageModel
from objectives.inference.scoring import chain_rule, pseudo_log_likelihood, total

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
    encoded = zip(sentences, tokenizer.encode_batch(sentences), strict=True)
    chosen = [(text, len(ids)) for text, ids in encoded if 8 <= len(ids) <= 16][: options.sentences]
    sentences = [text for text, _ in chosen]
    mean = sum(length for _, length in chosen) / len(chosen)
    print(
        f"{len(chosen)} sentences of {mean:.1f} tokens, vocabulary {tokenizer.size}, width {options.width}, depth "
        f"{options.depth}, {torch.get_num_threads()} threads"
    )
    config = EncoderConfig(width=options.width, depth=options.depth, heads=options.heads)
    vocabulary, budget, optimizer = tokenizer.vocabulary(), Budget(tokens=1), OptimizerConfig()
    masked = MLM(config, vocabulary, budget, optimizer, Corruption())
    causal = CLM(config, vocabulary, budget, optimizer)
    compare(masked.eval(), tokenizer, sentences, options.repeats)
    compare(causal.eval(), tokenizer, sentences, options.repeats)


def compare(objective: Objective, tokenizer: Tokenizer, sentences: list[str], repeats: int) -> None:
    """Time one kind of score all ways and print the ratios."""
    causal = objective.reading == "causal"
    model = to_huggingface(objective)
    theirs = huggingface_tokenizer(tokenizer, objective.encoder.config.max_length)
    score = chain_rule if causal else pseudo_log_likelihood
    minicons: Any
    if causal:
        # minicons scores what stands behind the first token, the end included if there is one.
        opening = theirs.cls_token
        theirs.backend_tokenizer.post_processor = TemplateProcessing(
            single=f"{opening} $A", special_tokens=[(opening, theirs.cls_token_id)]
        )
        minicons = scorer.IncrementalLMScorer(model, "cpu", tokenizer=theirs)
    else:
        theirs.batch_encode_plus = theirs.__call__  # gone in transformers 5, but minicons 0.3.39 calls it
        minicons = scorer.MaskedLMScorer(model, "cpu", tokenizer=theirs)

    def by_us(language_model: LanguageModel) -> list[float]:
        return [
            total(scores) for scores in score(language_model, [tokenizer.codec.encode(text).ids for text in sentences])
        ]

    def by_minicons(size: int) -> list[float]:
        batches = (sentences[start : start + size] for start in range(0, len(sentences), size))
        return [value for batch in batches for value in minicons.sequence_score(batch, reduction=_sum)]

    readers = {
        "ours": ObjectiveLanguageModel(objective),
        "ours, through Hugging Face": HuggingFaceLanguageModel(model, theirs, causal),
    }
    ways: dict[str, Callable[[], list[float]]] = {
        name: partial(by_us, language_model) for name, language_model in readers.items()
    }
    ways |= {f"minicons {size}": partial(by_minicons, size) for size in BATCH_SIZES}
    best = {name: float("inf") for name in ways}
    expected = ways["ours"]()
    for _ in range(repeats):
        for name, way in ways.items():
            start = time.perf_counter()
            values = way()
            best[name] = min(best[name], time.perf_counter() - start)
            worst = max(abs(a - b) for a, b in zip(values, expected, strict=True))
            if worst > 1e-3:
                raise SystemExit(f"{name} differs by {worst} nats")
    fastest = min((name for name in ways if name.startswith("minicons")), key=best.__getitem__)
    print(f"\n{score.__name__}: fastest {fastest} with {1000 * best[fastest]:.0f} ms")
    for name in readers:
        print(f"{name}: {1000 * best[name]:.0f} ms, {best[fastest] / best[name]:.2f} times as fast")


def _sum(scores: torch.Tensor) -> float:
    return scores.double().sum().item()


if __name__ == "__main__":
    main()
