"""From files as people have them to blocks, and to sentences that word swap can use."""

from __future__ import annotations

import random

import pytest

from experiments.corpora import LocalText
from experiments.data import TextData
from experiments.evaluation.word_swap import word_swap_pairs
from experiments.text.tokenizer import TokenizerConfig
from tests.support.tiny import WORDS

CHARACTERS = "我今天去北京他昨天在上海很好"


def sentences(count=600):
    draw = random.Random(0)
    return [" ".join(draw.choices(WORDS, k=draw.randint(6, 14))) + "." for _ in range(count)]


def cola(texts):
    """Source, label, mark of the author, sentence; no header, and quotes are a part of the text."""
    return "".join(f'gj04\t{n % 2}\t{"*" if n % 2 else ""}\t"{text}\n' for n, text in enumerate(texts))


def conllu(texts):
    blocks = []
    for n, text in enumerate(texts):
        words = [*text[:-1].split(), "."]
        spaces = ["_"] * (len(words) - 2) + ["SpaceAfter=No", "_"]
        rows = [
            f"{i}\t{word}\t_\t_\t_\t_\t_\t_\t_\t{space}"
            for i, (word, space) in enumerate(zip(words, spaces, strict=True), 1)
        ]
        blocks.append("\n".join([f"# text = {text}"] * (n % 2) + rows))
    return "\n\n".join(blocks) + "\n"


def chinese(texts):
    draw = random.Random(1)
    return "".join("".join(draw.choices(CHARACTERS, k=9)) + "。\n" for _ in texts)


@pytest.mark.parametrize(
    ("name", "write", "options"),
    [
        ("cola.tsv", cola, {"header": False, "column": 4}),
        ("train.conllu", conllu, {}),
        ("shakespeare.txt", "\n".join, {"sample_by": "length", "length": 400}),
        ("one-line.txt", " ".join, {"sample_by": "length", "length": 400}),
        ("chinese.txt", chinese, {}),
    ],
)
def test_files_become_blocks_and_pairs(tmp_path, name, write, options):
    (tmp_path / name).write_text(write(sentences()), encoding="utf-8")
    corpus = LocalText(str(tmp_path / name), validation=0.2, **options)
    data = TextData(corpus, TokenizerConfig(size=300), block_length=32, batch_size=4, root=str(tmp_path / "data"))
    data.prepare_data()
    assert next(iter(data.train_batches())).tokens_BT.shape == (4, 32)
    assert len(data.validation_sentences(100).texts) > 50
    # Of bytes, a Chinese sentence has more than a block holds.
    longest = 30
    pairs = word_swap_pairs(data, 20, longest)
    assert len(pairs) == 20 or name == "chinese.txt"
    if name != "chinese.txt":
        read = data.tokenizer.decode(data.packed.blocks("train")[0])
        assert not {"gj04", "SpaceAfter"} & set(read.split())
        assert all(sorted(original) == sorted(changed) for original, changed in pairs)
