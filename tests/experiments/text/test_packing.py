from __future__ import annotations

import hashlib
import itertools
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers

from experiments.corpora import LocalText
from experiments.text import packed_blocks, packing, token_stream
from experiments.text.codec import TextCodec
from experiments.text.packing import pack
from experiments.text.tokenizer import Tokenizer, TokenizerConfig
from tests.support.corpus import TinyCorpus, as_document

T = 16
REPOSITORY = Path(__file__).parents[3]
CONFIGS = [TokenizerConfig("character"), TokenizerConfig("bpe", 300), TokenizerConfig("wordpiece", 600)]


def brute_force(corpus, tokenizer, split):
    """The stream of a split, document by document."""
    return list(
        itertools.chain.from_iterable(
            as_document(tokenizer, tokenizer.encode_batch([text])[0]) for text in corpus.documents(split)
        )
    )


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.kind)
@pytest.mark.parametrize("split", ["train", "validation"])
def test_blocks_are_the_documents_in_order_and_the_manifest_counts_them(tiny_corpus, tmp_path, config, split):
    packed = pack(tiny_corpus, config, T, tmp_path)
    tokenizer = packed.tokenizer
    stream = brute_force(tiny_corpus, tokenizer, split)
    blocks = packed.blocks(split)
    assert blocks.shape == (len(stream) // T, T) and blocks.dtype == np.uint16
    assert blocks.ravel().tolist() == stream[: blocks.size]
    documents = list(tiny_corpus.documents(split))
    assert packed.manifest["splits"][split] == {
        "documents": len(documents),
        "characters": sum(map(len, documents)),
        "tokens": len(stream),
        "specials": sum(number in tokenizer.specials for number in stream),
        "unknown": stream.count(tokenizer.roles["unknown"]),
        "blocks": len(stream) // T,
        "dropped_tail": len(stream) % T,
    }
    assert packed.manifest["tokenizer_fingerprint"] == tokenizer.fingerprint
    assert packed.manifest["corpus_fingerprint"] == tiny_corpus.fingerprint()


def test_decoded_documents_are_the_text(tiny_corpus, tmp_path):
    packed = pack(tiny_corpus, TokenizerConfig("bpe", 300), T, tmp_path)
    text = packed.tokenizer.decode(packed.blocks("validation").ravel())
    pieces = text.removeprefix("[CLS]").split("[SEP][CLS]")
    assert pieces[:-1] == list(tiny_corpus.documents("validation"))[: len(pieces) - 1] and len(pieces) > 20


def test_characters_per_token_is_that_of_regular_tokens_in_training(tiny_corpus, tmp_path):
    characters = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    assert characters.characters_per_token == 1.0
    bpe = pack(tiny_corpus, TokenizerConfig("bpe", 300), T, tmp_path)
    regular = [number for number in brute_force(tiny_corpus, bpe.tokenizer, "train") if number > 4]
    assert bpe.characters_per_token == sum(map(len, tiny_corpus.documents("train"))) / len(regular)


@pytest.mark.parametrize("chunk", [1, 500])
def test_blocks_do_not_depend_on_the_chunks(tiny_corpus, tmp_path, monkeypatch, chunk):
    whole = pack(tiny_corpus, TokenizerConfig("bpe", 300), T, tmp_path / "whole")
    monkeypatch.setattr(token_stream, "CHUNK", chunk)
    assert pack(tiny_corpus, TokenizerConfig("bpe", 300), T, tmp_path / "chunks").fingerprint == whole.fingerprint


@pytest.mark.parametrize("limit", [7, 50])
def test_a_long_document_is_cut_and_nothing_is_lost(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(token_stream, "LONGEST_PIECE", limit)
    tokenizer = Tokenizer.train("bpe", 300, [""])
    documents = ["a much longer document\nof two lines, " * 9, "x" * 120, "short"]
    chunks = list(token_stream.token_stream(documents, tokenizer, np.dtype("<u2")))
    stream = np.concatenate([chunk.tokens for chunk in chunks])
    assert tokenizer.decode(stream) == "".join(f"[CLS]{text}[SEP]" for text in documents)
    assert sum(chunk.documents for chunk in chunks) == 3
    assert sum(chunk.characters for chunk in chunks) == sum(map(len, documents))


def test_text_cannot_forge_special_tokens(tmp_path):
    # Whole words, looked up in a vocabulary that the special tokens are part of.
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "word"]
    backend = Backend(models.WordLevel({name: number for number, name in enumerate(names)}, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    backend.add_special_tokens(names[:5])
    documents = ["word [CLS] word [SEP]", "", "[MASK] [PAD] other"]
    tokenizer = Tokenizer(backend)
    (chunk,) = token_stream.token_stream(documents, tokenizer, np.dtype("<u2"))
    assert chunk.tokens.tolist() == [2, 5, 1, 5, 1, 3, 2, 3, 2, 1, 1, 1, 3]
    assert chunk[1:] == (3, sum(map(len, documents)), 11, 5)
    encoded = tokenizer.encode_batch(documents)
    assert encoded == [[5, 1, 5, 1], [], [1, 1, 1]] == [tokenizer.encode(text).ids for text in documents]
    backend.model.unk_token = "none"
    with pytest.raises(ValueError, match=r'"\[CLS\]" is a special token of this model'):
        TextCodec(backend, tokenizer.specials, None).encode(documents[0])


def test_a_large_vocabulary_is_stored_in_four_bytes(tmp_path):
    characters = "".join(map(chr, range(0x20000, 0x20000 + 70_000)))
    lines = [characters[start : start + 100] for start in range(0, 70_000, 100)]
    (tmp_path / "a.txt").write_text("\n".join(lines), encoding="utf-8")
    corpus = LocalText(str(tmp_path / "a.txt"), validation=0.02)
    packed = pack(corpus, TokenizerConfig("character", 80_000), T, tmp_path)
    assert packed.blocks("train").dtype == np.uint32
    assert (
        packed.blocks("train").ravel().tolist()
        == brute_force(corpus, packed.tokenizer, "train")[: packed.blocks("train").size]
    )


def test_packed_once_it_is_opened_and_anything_else_is_packed_anew(tiny_corpus, tmp_path, monkeypatch):
    first = pack(tiny_corpus, TokenizerConfig("bpe", 300), T, tmp_path)
    others = [
        pack(tiny_corpus, TokenizerConfig("bpe", 300), T + 1, tmp_path),
        pack(tiny_corpus, TokenizerConfig("bpe", 301), T, tmp_path),
        pack(TinyCorpus(seed=1), TokenizerConfig("bpe", 300), T, tmp_path),
    ]
    assert len({packed.directory for packed in [first, *others]}) == 4
    assert len({packed.fingerprint for packed in [first, *others]}) == 4
    monkeypatch.setattr(packing, "_build", None)
    again = pack(TinyCorpus(), TokenizerConfig("auto", 300), T, tmp_path)
    assert again.directory == first.directory and again.fingerprint == first.fingerprint


def test_a_tokenizer_file_counts_by_its_contents(tiny_corpus, tmp_path):
    for name in ("a.json", "b.json"):
        Tokenizer.train("bpe", 300 if name == "a.json" else 310, tiny_corpus.texts()).save(tmp_path / name)
    keys = [packing.packing_key(tiny_corpus, TokenizerConfig(str(tmp_path / name)), T) for name in ("a.json", "b.json")]
    (tmp_path / "b.json").write_bytes((tmp_path / "a.json").read_bytes())
    assert keys[0] != keys[1]
    assert packing.packing_key(tiny_corpus, TokenizerConfig(str(tmp_path / "b.json")), T) == keys[0]


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def change_count(path):
    manifest = json.loads(path.read_text())
    manifest["characters_per_token"] += 1
    path.write_text(json.dumps(manifest))


@pytest.mark.parametrize(
    ("name", "damage", "message"),
    [
        ("train.bin", flip, "sha256"),
        ("validation.bin", flip, "sha256"),
        ("train.bin", lambda path: path.write_bytes(path.read_bytes()[:-2]), "bytes instead of"),
        ("train.bin", lambda path: path.unlink(), "is missing"),
        ("tokenizer.json", flip, "sha256"),
        ("manifest.json", lambda path: path.write_text("{"), "JSONDecodeError"),
        ("manifest.json", lambda path: path.write_text("[]"), "AttributeError|TypeError"),
        ("manifest.json", lambda path: path.write_text("{}"), "KeyError"),
        ("manifest.json", change_count, "was altered"),
        ("manifest.json", lambda path: path.unlink(), "FileNotFoundError"),
    ],
)
def test_damage_is_found_and_named_with_the_fix(tiny_corpus, tmp_path, name, damage, message):
    packed = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    damage(packed.directory / name)
    with pytest.raises(ValueError, match=message) as caught:
        pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    assert str(packed.directory / name) in str(caught.value)
    assert f"delete {packed.directory}" in str(caught.value)


def test_another_format_is_not_read(tiny_corpus, tmp_path, monkeypatch):
    packed = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    monkeypatch.setattr(packed_blocks, "FORMAT", packed_blocks.FORMAT + 1)
    with pytest.raises(ValueError, match="another version"):
        packed_blocks.open_packed_blocks(packed.directory)


@pytest.mark.parametrize(
    ("corpus", "block_length", "message"),
    [
        (TinyCorpus(documents=0), T, "TinyCorpus has no document in its train split"),
        (TinyCorpus(), 10**5, "train split of TinyCorpus has .* tokens, too few for a block of 100000"),
        (TinyCorpus(), 2000, "validation split of TinyCorpus has .* tokens, too few for a block of 2000"),
        (TinyCorpus(), 1, "block_length=1 must be at least 2"),
    ],
)
def test_too_little_text_is_refused_and_leaves_nothing(tmp_path, corpus, block_length, message):
    with pytest.raises(ValueError, match=message):
        pack(corpus, TokenizerConfig("bpe", 300), block_length, tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.suffix != ".lock"]


def test_one_long_document_is_refused_with_what_to_do(tmp_path):
    text = " ".join(f"word {number}" for number in range(20_000))
    (tmp_path / "a.txt").write_text(text)
    with pytest.raises(ValueError, match=r"a document lies in one split as a whole, .*pieces of a certain length"):
        pack(LocalText(str(tmp_path / "a.txt")), TokenizerConfig("bpe", 300), T, tmp_path / "data")
    corpus = LocalText(str(tmp_path / "a.txt"), sample_by="length", length=1000)
    packed = pack(corpus, TokenizerConfig("bpe", 300), T, tmp_path / "data")
    counts = [packed.manifest["splits"][split] for split in ("train", "validation")]
    assert sum(count["characters"] for count in counts) == len(text)
    assert min(count["documents"] for count in counts) > 5


def test_rows_without_text_are_counted(tmp_path, capsys):
    rows = "".join(f"word number {number}\n,\n" for number in range(300)).replace("\n,", ",1\n,0")
    (tmp_path / "a.csv").write_text(f"text,label\n{rows}")
    packed = pack(LocalText(str(tmp_path / "a.csv"), validation=0.2), TokenizerConfig("bpe", 300), T, tmp_path / "data")
    assert packed.manifest["empty_cells"] == 300
    assert sum(count["documents"] for count in packed.manifest["splits"].values()) == 300
    assert "LocalText: 300 rows without text are left out" in capsys.readouterr().err


def test_a_root_that_cannot_be_written_is_named(tiny_corpus, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match=r"cannot write packed data below .*file/data: .*; choose another data root"):
        pack(tiny_corpus, TokenizerConfig(), T, tmp_path / "file" / "data")


def test_what_a_killed_build_left_is_cleared(tiny_corpus, tmp_path, monkeypatch):
    directory = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path / "elsewhere").directory
    partial = tmp_path / f".{directory.name}.partial"
    partial.mkdir()
    (partial / "train.bin").write_bytes(b"half")
    packed = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    assert not partial.exists() and packed.blocks("train").size
    assert sorted(path.name for path in packed.directory.iterdir()) == [
        "manifest.json",
        "tokenizer.json",
        "train.bin",
        "validation.bin",
    ]


RACE = """
import sys, time
from pathlib import Path
from experiments.text import packing
from experiments.text.tokenizer import TokenizerConfig
from tests.support.corpus import TinyCorpus

root, build = Path(sys.argv[1]), packing._build
def slow_build(*arguments):
    print("built", end=" ")
    time.sleep(0.5)
    build(*arguments)
packing._build = slow_build
(root / f"ready{sys.argv[2]}").touch()
while len(list(root.glob("ready*"))) < 2:
    time.sleep(0.005)
packed = packing.pack(TinyCorpus(), TokenizerConfig("bpe", 300), 16, root / "data")
print(packed.fingerprint)
"""


@pytest.mark.slow
def test_two_processes_at_once_build_once(tmp_path):
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    processes = [
        subprocess.Popen([*command, str(number)], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY)
        for number in range(2)
    ]
    outputs = [process.communicate(timeout=60)[0].split() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert sorted(map(len, outputs)) == [1, 2] and outputs[0][-1] == outputs[1][-1]


def test_fingerprint_covers_every_block(tiny_corpus, tmp_path):
    packed = pack(tiny_corpus, TokenizerConfig("character"), T, tmp_path)
    digest = hashlib.sha256((packed.directory / "train.bin").read_bytes()).hexdigest()
    assert packed.manifest["files"]["train.bin"]["sha256"] == digest
    assert packed.fingerprint == packed_blocks.seal_of(packed.manifest)
