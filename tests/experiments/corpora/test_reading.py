"""How files become documents: the text column as text, other columns never, and refusals that name file and line."""

from __future__ import annotations

import errno
import gzip
import itertools
import json
import subprocess
import sys

import pyarrow
import pyarrow.parquet
import pytest

from experiments.corpora import HubText, LocalText
from experiments.corpora.open_files import Source, opened
from experiments.corpora.plain_text import cut
from tests.support.tiny import write_text

WORDS_LIKE_NULL = [
    "null",
    "NA",
    "None",
    "nan",
    "n/a",
    "N/A",
    "NULL",
    "1984",
    "007",
    "1e5",
    "True",
    "2024-01-01",
    "real",
]


def read(path, **options):
    return list(LocalText([str(one) for one in path] if isinstance(path, list) else str(path), **options).texts())


@pytest.mark.parametrize("reader", [LocalText, HubText])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
def test_the_text_column_is_text_whatever_it_looks_like(tmp_path, suffix, reader):
    path = tmp_path / f"train.{suffix}"
    if suffix == "csv":
        path.write_text("text,label\n" + "".join(f"{word},1\n" for word in [*WORDS_LIKE_NULL, "", " "]))
    elif suffix == "jsonl":
        path.write_text("".join(json.dumps({"text": word}) + "\n" for word in [*WORDS_LIKE_NULL, "", None]))
    else:
        pyarrow.parquet.write_table(pyarrow.table({"text": [*WORDS_LIKE_NULL, "", None]}), path)
    corpus = reader(str(path if reader is LocalText else tmp_path))
    for _ in range(2):
        assert list(corpus.texts()) == WORDS_LIKE_NULL
        assert corpus.empty_cells == 2


def test_a_column_of_numbers_alone_is_read_as_it_is_written(tmp_path):
    (tmp_path / "a.csv").write_text("text,label\n1984,1\n2001.50,0\n")
    (tmp_path / "b.csv").write_text("text\nTrue\nFalse\n")
    assert read([tmp_path / "a.csv", tmp_path / "b.csv"]) == ["1984", "2001.50", "True", "False"]
    (tmp_path / "late.csv").write_text("text\n" + "".join(f"{n}\n" for n in range(10_001)) + "word\n")
    assert read(tmp_path / "late.csv")[-2:] == ["10000", "word"]


def table(path, **columns):
    pyarrow.parquet.write_table(pyarrow.table(columns), path)


def test_other_columns_do_not_matter_nor_the_order_of_files(tmp_path):
    """Each pair was refused, in one order or in both."""

    def rows(name, *records):
        (tmp_path / name).write_text("".join(json.dumps(record) + "\n" for record in records))

    rows("f1.jsonl", {"text": "a", "m": None})
    rows("f2.jsonl", {"text": "b", "m": "str"})
    rows("g1.jsonl", {"text": "a"})
    rows("g2.jsonl", {"text": "b", "id": {"x": 0}})
    rows("h1.jsonl", {"text": None}, {"text": "a"})
    rows("h2.jsonl", {"text": "b", "text2": 10**400})
    (tmp_path / "c1.csv").write_text("id,note,text\n1,,a\n")
    (tmp_path / "c2.csv").write_text("id,text\n1,b\n")
    table(tmp_path / "p1.parquet", text=["a"], id=[1])
    table(tmp_path / "p2.parquet", text=["b"], id=["x"], z=[1])
    table(tmp_path / "q1.parquet", text=pyarrow.array(["a"], pyarrow.large_string()), n=[None])
    table(tmp_path / "q2.parquet", text=pyarrow.array(["b"], pyarrow.string_view()), n=["x"])
    table(tmp_path / "r1.parquet", text=pyarrow.array(["a"]).dictionary_encode())
    table(tmp_path / "r2.parquet", text=["b"])
    table(tmp_path / "empty.parquet", text=pyarrow.array([], pyarrow.string()))
    table(tmp_path / "nulls.parquet", text=pyarrow.array([None], pyarrow.null()))
    for kind in "fghcpqr":
        files = sorted(tmp_path.glob(f"{kind}?.*"))
        assert len(files) == 2
        assert read(files) == ["a", "b"] and read(files[::-1]) == ["b", "a"], kind
    for order in itertools.permutations(["r1", "empty", "nulls"]):
        assert read([tmp_path / f"{name}.parquet" for name in order]) == ["a"]


def test_a_list_of_objects_is_read_as_lines_are(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps([{"text": "a"}, {"text": None}, {"text": "b", "x": 1}], indent=1))
    assert read(tmp_path / "a.json") == ["a", "b"]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "gb18030"])
@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv", "tsv", "conllu"])
def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path, suffix, encoding):
    mark = "" if encoding == "utf-16" else "\ufeff"  # which writes its own
    header = {"jsonl": "", "csv": "text\n", "tsv": "text\n"}.get(suffix, "")
    for name, line in (("a", "erste Zeile é"), ("b", "zweite 中文")):
        line = {"jsonl": json.dumps({"text": line}, ensure_ascii=False), "conllu": f"# text = {line}"}.get(suffix, line)
        (tmp_path / f"{name}.{suffix}").write_bytes((mark + header + line + "\n").encode(encoding))
    files = [tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"]
    assert read(files, encoding=encoding) == ["erste Zeile é", "zweite 中文"]


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("suffix", ["txt", "jsonl", "csv"])
def test_compressed_files_are_read_like_others(tmp_path, suffix, compression):
    plain = {"txt": "a\nb\n", "jsonl": '{"text": "a"}\n{"text": "b"}\n', "csv": "text\na\nb\n"}[suffix]
    path = tmp_path / f"x.{suffix}{'.gz' if compression == 'gzip' else '.zst'}"
    with pyarrow.OSFile(str(path), "wb") as file, pyarrow.CompressedOutputStream(file, compression) as stream:
        stream.write(plain.encode())
    (tmp_path / f"y.{suffix}").write_text(plain)
    assert read([path, tmp_path / f"y.{suffix}"]) == ["a", "b", "a", "b"]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=f"cannot read .*x.{suffix}"):
        read(path)


COLA = 'gj04\t1\t\tOur friends won\'t buy this.\ngj04\t0\t*\t"Who" is he\ngj04\t1\t\t"Open quote\n'


def test_a_table_without_header_goes_by_numbers(tmp_path):
    (tmp_path / "cola.tsv").write_text(COLA)
    sentences = [line.split("\t")[3] for line in COLA.splitlines()]
    assert read(tmp_path / "cola.tsv", header=False, column=4) == sentences
    assert read(tmp_path / "cola.tsv", header=False, column="4") == sentences
    with pytest.raises(ValueError, match=r'cola.tsv has no column "text"; .* set header to false'):
        read(tmp_path / "cola.tsv")
    for column in ("text", 0, 5):
        with pytest.raises(ValueError, match="has 4 columns; name one by its number"):
            read(tmp_path / "cola.tsv", header=False, column=column)


def test_a_separator_and_quotes(tmp_path):
    (tmp_path / "a.csv").write_text('text;n\n"a; b\n""c""";1\n')
    assert read(tmp_path / "a.csv", separator=";") == ['a; b\n"c"']
    (tmp_path / "b.dat").write_text('text\tn\n"a\tb"\t1\n')
    assert read(tmp_path / "b.dat", format="csv", separator=r"\t") == ["a\tb"]
    (tmp_path / "long.csv").write_text("text,n\n" + "x" * 300_000 + ",1\n")
    assert [len(text) for text in read(tmp_path / "long.csv")] == [300_000]


@pytest.mark.parametrize("name", ["a.train", "a.neg", "a"])
def test_text_under_any_name_is_read_when_its_format_is_named(tmp_path, name):
    (tmp_path / name).write_text("one\ntwo\n")
    assert read(tmp_path / name, format="text") == ["one", "two"]
    with pytest.raises(ValueError, match=r"cannot tell how to read these files: .* or name their format"):
        read(tmp_path / name)


def test_lines_and_paragraphs(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\r\n \t\r\nthree\n\n\n  four \n")
    assert read(tmp_path / "a.txt") == ["one", "two", "three", "  four "]
    assert read(tmp_path / "a.txt", sample_by="paragraph") == ["one\ntwo", "three", "  four "]
    assert read(tmp_path / "a.txt", sample_by="document") == ["one\ntwo\n \t\nthree\n\n\n  four \n"]


@pytest.mark.parametrize("length", [1, 7, 50, 10_000])
@pytest.mark.parametrize("size", [1, 64, 10**6])
def test_cutting_by_length_loses_nothing(length, size):
    text = "To be, or not to be:\nthat is the question. " * 30 + "x" * 200
    found = list(cut((text[start : start + size] for start in range(0, len(text), size)), length))
    assert "".join(found) == text or (length == 1 and "".join(found) == "".join(text.split()))
    assert max(map(len, found)) <= length
    if length == 50:
        assert all(len(piece) > 25 for piece in found[:-1])
        assert all(piece[-1] in " \n" for piece in found if "x" not in piece)


def test_one_long_document_can_be_cut(tmp_path):
    text = " ".join(f"word{n}" for n in range(2000))
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "a.jsonl").write_text(json.dumps({"text": text}))
    assert len(read(tmp_path / "a.txt")) == 1
    for suffix in ("txt", "jsonl"):
        found = read(tmp_path / f"a.{suffix}", sample_by="length", length=500)
        assert "".join(found) == text and len(found) > 30


CONLLU = """\
# sent_id = 1
# text = Vámonos al mar = ya.
1-2\tVámonos\t_\t_\t_\t_\t_\t_\t_\t_
1\tVamos\tir\tVERB\t_\t_\t0\troot\t_\t_
2\tnos\tnosotros\tPRON\t_\t_\t1\tobj\t_\t_

# sent_id = 2
1\tShe\tshe\tPRON\t_\t_\t2\tnsubj\t_\t_
2-3\tdon't\t_\t_\t_\t_\t_\t_\t_\t_
2\tdo\tdo\tAUX\t_\t_\t0\troot\t_\t_
3\tn't\tnot\tPART\t_\t_\t2\tadvmod\t_\t_
3.1\tknow\tknow\tVERB\t_\t_\t_\t_\t_\t_
4\tcare\tcare\tVERB\t_\t_\t2\txcomp\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t2\tpunct\t_\t_
"""


def test_conllu_gives_sentences(tmp_path):
    (tmp_path / "a.conllu").write_text(CONLLU)
    assert read(tmp_path / "a.conllu") == ["Vámonos al mar = ya.", "She don't care."]


@pytest.mark.parametrize(
    ("name", "content", "options", "message"),
    [
        ("a.jsonl", '{"text": "a"}\n{"text": 3}\n', {}, 'a.jsonl line 2 has a number under "text", not text'),
        ("a.jsonl", '{"text": "a"}\n\n{"text": ["b"]}\n', {}, 'line 3 has a list under "text"'),
        ("a.jsonl", '{"text": "a"}\n{"txt": "b"}\n', {}, 'line 2 has no "text"; its keys are txt'),
        ("a.jsonl", '{"text": "a"}\n"b"\n', {}, "line 2 is not a JSON object but text"),
        ("a.jsonl", '{"text": "\\ud800"}\n', {}, "line 1 has an unpaired surrogate"),
        ("a.jsonl", '{"text": "a", "deep": ' + "[" * 100_000 + "\n", {}, "line 1 is not valid JSON"),
        ("a.json", '[{"text": "a"}, {"text": 1.5}]', {}, "a.json item 2 has a number"),
        ("a.csv", "text,n\na,1\nb, c,2\n", {}, r"a.csv line 3 has 3 fields, but its first row has 2; quote texts"),
        ("a.csv", "text,n\na,1\nb\n", {}, r"a.csv line 3 has 1 field, but its first row has 2"),
        ("a.csv", 'text\na\n"b\nc\n', {}, r"cannot read .*a.csv line 4: unexpected end of data"),
        ("a.csv", "text,text\na,b\n", {}, 'a.csv has several columns "text"'),
        ("a.tsv", 'text\tn\n"a\nb"\t1\n', {}, "a.tsv line 2 has 1 field.* if texts are quoted, name format csv"),
        ("a.conllu", "# text = a\n\n1 a a\n", {}, r"a.conllu line 3 is no word of CoNLL-U"),
        ("a.conllu", "x\t" * 9 + "x\n", {}, r"a.conllu line 1 is no word of CoNLL-U"),
        ("a.txt", "a\nb\nc \udcff\n", {}, r"a.txt line 3 is not utf-8 .*; name the file's encoding"),
        ("a.csv", "text\na\nb \udcff\n", {}, r"a.csv line 3 is not utf-8"),
        ("a.jsonl.gz", "x", {}, "cannot read .*a.jsonl.gz"),
        ("a.parquet", "x", {}, "cannot read .*a.parquet"),
        ("a.txt", "a", {"encoding": "utf-9"}, '"utf-9" is no encoding of text'),
        ("a.txt", "a b", {"encoding": "utf-16"}, "a.txt line 1 is not utf-16 .*BOM.*; name the file's encoding"),
        ("a.txt", "a", {"encoding": "undefined"}, '"undefined" is no encoding of text'),
        ("a.txt", "a", {"encoding": "hex"}, '"hex" is no encoding of text'),
        ("a.txt", "a", {"format": "xml"}, 'format="xml" must be one of text, jsonl, csv'),
        ("a.txt", "a", {"column": "body"}, r"column has no meaning for files of format text, as which .*a.txt is read"),
        ("a.txt", "a", {"separator": ";"}, "separator has no meaning for files of format text"),
        ("a.tsv", "a", {"separator": ";"}, "separator has no meaning for files of format tsv"),
        ("a.jsonl", "", {"header": False}, "header has no meaning for files of format jsonl"),
        ("a.jsonl", "", {"sample_by": "paragraph"}, "sample_by has no meaning for files of format jsonl"),
        ("a.csv", "", {"separator": ";;"}, "must be one character"),
        ("a.txt", "", {"sample_by": "length", "length": 0}, "length=0 must be positive"),
    ],
)
def test_a_refusal_names_file_and_line(tmp_path, name, content, options, message):
    (tmp_path / name).write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as caught:
        read(tmp_path / name, **options)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("number", "kind"), [(errno.EIO, OSError), (errno.ENOENT, ValueError)])
def test_a_fault_of_the_disk_is_none_of_the_file(number, kind):
    """A sweep can try it again: the run is not said to have failed."""

    def broken():
        raise OSError(number, "broken")

    with pytest.raises(kind, match=r"cannot read a\.txt: .*broken") as caught, opened(Source("a.txt", broken)):
        pass
    assert isinstance(caught.value, ValueError) == (kind is ValueError)


def test_the_line_that_is_not_decoded_is_found_far_into_a_file(tmp_path):
    """Decoders read ahead of the line that is asked for."""
    lines = [b"word " * 20] * 5000
    lines[4321] = b"caf\xe9"
    (tmp_path / "a.txt").write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match="line 4322 is not utf-8"):
        read(tmp_path / "a.txt")
    assert read(tmp_path / "a.txt", encoding="latin-1")[4321] == "café"


def test_every_setting_of_reading_is_in_the_fingerprint(tmp_path):
    (tmp_path / "a.tsv").write_text(COLA)
    (tmp_path / "a.csv").write_text("text\na\n")
    variants = [
        LocalText(str(tmp_path / "a.tsv"), header=False, column=4),
        LocalText(str(tmp_path / "a.tsv"), header=False, column=1),
        LocalText(str(tmp_path / "a.tsv"), column=4),
        LocalText(str(tmp_path / "a.tsv"), format="text"),
        LocalText(str(tmp_path / "a.tsv"), format="text", sample_by="length"),
        LocalText(str(tmp_path / "a.tsv"), format="text", sample_by="length", length=9),
        LocalText(str(tmp_path / "a.csv")),
        LocalText(str(tmp_path / "a.csv"), encoding="latin-1"),
        LocalText(str(tmp_path / "a.csv"), separator=";"),
    ]
    assert len({corpus.fingerprint() for corpus in variants}) == len(variants)


@pytest.mark.parametrize("name", ["hub [v1]", "a::b", "15%j", "a*b", "q?x", "#1"])
def test_folders_of_any_name_hold_corpora(tmp_path, name):
    folder = tmp_path / name / "data"
    folder.mkdir(parents=True)
    other = tmp_path / "hub 1" / "data"  # what a pattern would find
    other.mkdir(parents=True)
    for split in ("train", "validation"):
        (folder / f"{split}.jsonl").write_text(json.dumps({"text": split}) + "\n")
        (other / f"{split}.jsonl").write_text(json.dumps({"text": "other"}) + "\n")
    corpus = HubText(str(tmp_path / name), validation_split="validation")
    assert [list(corpus.documents(split)) for split in ("train", "validation")] == [["train"], ["validation"]]
    assert read(folder / "train.jsonl") == ["train"]
    (folder / "train.jsonl").write_text('{"text": 1}\n')
    with pytest.raises(ValueError, match=r"train.jsonl line 1 has a number") as caught:
        list(corpus.documents("train"))
    assert str(folder / "train.jsonl") in str(caught.value)


def test_a_data_set_with_settings_of_its_own_is_read_by_them(tmp_path):
    (tmp_path / "README.md").write_text(
        "---\nconfigs:\n- config_name: plain\n  data_files: a.csv\n  sep: ';'\n  column_names: [n, text]\n"
        "- config_name: skips\n  data_files: b.csv\n  skiprows: 1\n---\n"
    )
    (tmp_path / "a.csv").write_text("1;NA\n2;two\n")
    (tmp_path / "b.csv").write_text("a comment\ntext,n\nnull,1\ntwo,2\n")
    assert list(HubText(str(tmp_path), "plain").texts()) == ["NA", "two"]
    assert list(HubText(str(tmp_path), "skips").texts()) == ["null", "two"]


def remote(monkeypatch, tmp_path, files):
    """A data set in a file system that is not this machine's, in the place of the hub."""
    import datasets
    import fsspec
    from datasets.data_files import DataFilesDict, DataFilesList
    from datasets.packaged_modules.json.json import Json

    memory = fsspec.filesystem("memory")
    for name, content in files.items():
        memory.pipe(f"/{tmp_path.name}/{name}", content)
    urls = DataFilesList([f"memory://{tmp_path.name}/{name}" for name in files], [])
    built = object.__new__(Json)
    built.config = Json.BUILDER_CONFIG_CLASS(data_files=DataFilesDict({datasets.Split.TRAIN: urls}))
    monkeypatch.setattr(datasets, "load_dataset_builder", lambda *_, **__: built)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", tmp_path / "cache")


@pytest.mark.parametrize("streaming", [True, False])
def test_files_of_the_hub_are_read_like_those_of_a_folder(tmp_path, monkeypatch, streaming):
    files = {"a.jsonl": b'{"text": "2024-01-01"}\n{"text": null}\n', "b.jsonl.gz": gzip.compress(b'{"text": "b"}\n')}
    remote(monkeypatch, tmp_path, files)
    corpus = HubText("some/name", streaming=streaming)
    assert list(corpus.texts()) == ["2024-01-01", "b"] and corpus.empty_cells == 1


def test_reading_files_imports_no_datasets(tmp_path):
    """It takes a second, at every start."""
    path = write_text(tmp_path / "a.txt", 5)
    code = f"from experiments.corpora import LocalText as C; assert list(C({str(path)!r}).texts())"
    code += "; import sys; assert 'datasets' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
