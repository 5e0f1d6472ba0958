"""Minimal pairs: the statistics against references, and the command."""

import json
import math

import pytest

from experiments.cli import main
from experiments.inference.open_model import open_model
from experiments.inference.pairs import model_names
from objectives import CLM, MLM
from objectives.inference.minimal_pairs import mean_paired_difference
from tests.support.objectives import own_scores
from tests.support.random_run import make_run

PAIRS = [
    ("the old cat sees the bird", "the old cat see the bird", "agreement", "verbs"),
    ("a tree likes the house", "a trees likes the house", "agreement", "nouns"),
    ("the river", "the river", "agreement", "nouns"),
    ("the young bird", "young the bird", "order", "articles"),
    ("near the river", "the river near", "order", "articles"),
]


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    return [make_run(folder / "clm", CLM), make_run(folder / "mlm", MLM), make_run(folder / "other", MLM, seed=5)]


@pytest.fixture
def file(tmp_path):
    keys = ("sentence_good", "sentence_bad", "linguistics_term", "UID")
    path = tmp_path / "pairs.jsonl"
    path.write_text("".join(json.dumps(dict(zip(keys, pair, strict=True))) + "\n" for pair in PAIRS))
    return path


def pairs(*arguments):
    return main(["pairs", *map(str, arguments)])


def table(capsys):
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    return {(row["quantity"], row["model"], row["group"]): row for row in rows}


def outcomes(run):
    objective, codec = open_model(str(run)).language_model.module, open_model(str(run)).codec
    sums = [[math.fsum(own_scores(objective, [codec.encode(text).ids])[0]) for text in pair[:2]] for pair in PAIRS]
    return [0.5 if good == bad else float(good > bad) for good, bad in sums]


def test_accuracies_by_group(runs, file, capsys):
    assert pairs(runs[1], file, "--format", "jsonl") == 0
    rows, name, expected = table(capsys), runs[1].name, outcomes(runs[1])
    whole = rows["accuracy", name, "all"]
    assert (whole["pairs"], whole["ties"], whole["value"]) == (5, 1, pytest.approx(sum(expected) / 5))
    groups = {"agreement": [0, 1, 2], "order": [3, 4]}
    for group, places in groups.items():
        row = rows["accuracy", name, f"linguistics_term={group}"]
        assert row["value"] == pytest.approx(sum(expected[place] for place in places) / len(places))
        assert row["low"] < row["value"] < row["high"] or row["value"] in (0, 1)
    macro = rows["accuracy", name, "mean over linguistics_term"]
    values = [rows["accuracy", name, f"linguistics_term={group}"]["value"] for group in groups]
    assert macro["value"] == pytest.approx(sum(values) / 2) and macro["low"] is None
    assert {group for _, _, group in rows} >= {"UID=verbs", "UID=nouns", "UID=articles", "mean over UID"}
    assert rows["accuracy", name, "UID=nouns"]["ties"] == 1


def test_an_identical_pair_is_a_tie_for_every_model(runs, tmp_path, capsys):
    path = tmp_path / "same.jsonl"
    path.write_text('{"sentence_good": "the old cat", "sentence_bad": "the old cat"}\n')
    assert pairs(*runs, path, "--format", "jsonl") == 0
    rows = table(capsys)
    for run in runs:
        assert (rows["accuracy", run.name, "all"]["value"], rows["accuracy", run.name, "all"]["ties"]) == (0.5, 1)


def test_pairs_of_equal_length_apart(runs, file, capsys):
    assert pairs(runs[1], file, "--format", "jsonl") == 0
    rows, name = table(capsys), runs[1].name
    codec = open_model(str(runs[1])).codec
    same = [len(codec.encode(good).ids) == len(codec.encode(bad).ids) for good, bad, *_ in PAIRS]
    assert 0 < sum(same) < 5
    share = rows["share", name, "equally many tokens"]
    assert (share["value"], share["pairs"], share["ties"]) == (sum(same) / 5, 5, 1)
    assert rows["accuracy", name, "equally many tokens"]["pairs"] == sum(same)
    matched = [value for value, there in zip(outcomes(runs[1]), same, strict=True) if there]
    assert rows["accuracy", name, "equally many tokens"]["value"] == pytest.approx(sum(matched) / len(matched))


def test_several_models_are_compared_with_the_first(runs, file, capsys):
    assert pairs(*runs, file, "--format", "jsonl") == 0
    rows = table(capsys)
    first, *others = runs
    for other in others:
        row = rows["difference", f"{other.name} - {first.name}", "all"]
        expected = mean_paired_difference(outcomes(other), outcomes(first))
        assert (row["value"], row["low"], row["high"]) == pytest.approx(tuple(expected))
        assert ("difference", f"{other.name} - {first.name}", "UID=nouns") in rows
    assert ("difference", f"{runs[2].name} - {runs[1].name}", "all") not in rows


def test_a_method_goes_to_the_models_that_have_it(runs, file, capsys):
    assert pairs(*runs[:2], file, "--method", "pll_word_l2r") == 0
    captured = capsys.readouterr()
    assert f"{runs[0].name} by chain_rule" in captured.err and f"{runs[1].name} by pll_word_l2r" in captured.err
    assert pairs(runs[0], file, "--method", "pll") == 2
    assert "cannot be scored by pll" in capsys.readouterr().err


def test_grouping_by_a_key(runs, file, capsys):
    assert pairs(runs[1], file, "--by", "UID", "--by", "UID", "--format", "jsonl") == 0
    rows = table(capsys)
    groups = {group for _, _, group in rows}
    assert rows["accuracy", runs[1].name, "UID=nouns"]["pairs"] == 2
    assert "UID=nouns" in groups and not any(group.startswith("linguistics_term") for group in groups)


@pytest.mark.parametrize(
    ("second", "options", "message"),
    [
        ('{"sentence_good": "a", ', (), "line 2 is not valid JSON"),
        ('{"sentence_good": "a"}', (), 'line 2 has no text under the key "sentence_bad"'),
        ('{"sentence_good": "a", "sentence_bad": "b"}', ("--by", "UID"), 'line 1 has no "UID" to group by'),
        ('{"sentence_good": "a", "sentence_bad": "b", "UID": "x"}', (), 'line 1 has no "UID" to group by'),
        ('{"sentence_good": "", "sentence_bad": "b"}', (), "line 2 has a sentence without a token"),
        ('{"sentence_good": "b", "sentence_bad": ""}', (), "line 2 has a sentence without a token"),
        ('{"sentence_good": "a", "sentence_bad": "' + "river " * 60 + '"}', (), "line 2 has"),
    ],
)
def test_bad_pairs_are_named_by_line(second, options, message, runs, tmp_path, capsys):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"sentence_good": "the cat", "sentence_bad": "cat the"}\n' + second + "\n")
    assert pairs(runs[1], path, *options) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


def test_no_pairs_and_a_model_named_twice_are_refused(runs, file, tmp_path, capsys):
    (tmp_path / "empty.jsonl").write_text("")
    assert pairs(runs[1], tmp_path / "empty.jsonl") == 2
    assert "has no pairs" in capsys.readouterr().err
    assert pairs(runs[1], f"{runs[1]}/", file) == 2
    assert "named twice" in capsys.readouterr().err


def test_models_are_named_by_what_distinguishes_them(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert model_names(["grid/runs/clm"]) == ["clm"]
    assert model_names(["grid/runs/clm/", f"{tmp_path}/grid/runs/mlm"]) == ["clm", "mlm"]
    assert model_names(["a/snapshots/1.ckpt", "b/snapshots/1.ckpt"]) == ["a/snapshots/1.ckpt", "b/snapshots/1.ckpt"]
    assert model_names(["grid/clm", "other/runs/mlm"]) == ["clm", "mlm"]
    assert model_names(["grid/clm", "other/runs/clm"]) == ["grid/clm", "other/runs/clm"]
    assert model_names(["grid/runs/clm", "hf:google-bert/bert-base"]) == ["clm", "hf:google-bert/bert-base"]
    with pytest.raises(ValueError, match="a model is named twice"):
        model_names(["grid/runs/clm", "grid/runs/clm/"])


def test_text_that_a_model_does_not_see_is_remarked_on(runs, tmp_path, capsys):
    chinese = make_run(tmp_path / "chinese", MLM, "character")
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"sentence_good": "今天ζ", "sentence_bad": "ζ今天"}\n', encoding="utf-8")
    assert pairs(runs[1], chinese, path, "--format", "jsonl") == 0
    remarks = [line for line in capsys.readouterr().err.splitlines() if "cannot encode" in line]
    assert remarks == ["chinese: 2 of the tokens stand for text that the model's tokenizer cannot encode"]


def test_blank_lines_end_a_file_and_are_refused_inside(runs, file, tmp_path, capsys):
    assert pairs(runs[1], file) == 0
    expected = capsys.readouterr().out
    for ending in ("\n", "\n\r\n", "  \t\n\n", "   "):
        (tmp_path / "more.jsonl").write_text(file.read_text() + ending)
        assert pairs(runs[1], tmp_path / "more.jsonl") == 0
        assert capsys.readouterr().out == expected
    first, *others = file.read_text().splitlines()
    for blank in ("", " \t"):
        (tmp_path / "more.jsonl").write_text("\n".join((first, blank, *others)))
        assert pairs(runs[1], tmp_path / "more.jsonl") == 2
        assert "more.jsonl line 2 is blank; remove it" in capsys.readouterr().err
    (tmp_path / "more.jsonl").write_text("\n\n")
    assert pairs(runs[1], tmp_path / "more.jsonl") == 2
    assert "has no pairs" in capsys.readouterr().err


def test_a_file_without_equally_long_pairs(runs, tmp_path, capsys):
    path = tmp_path / "pairs.jsonl"
    path.write_text('{"sentence_good": "the old cat", "sentence_bad": "river"}\n')
    assert pairs(runs[1], path, "--format", "jsonl") == 0
    rows = table(capsys)
    assert rows["share", runs[1].name, "equally many tokens"]["value"] == 0
    assert ("accuracy", runs[1].name, "equally many tokens") not in rows
