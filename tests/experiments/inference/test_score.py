"""The command score, from file to table."""

import io
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import pre_tokenizers

from experiments.cli import main
from experiments.corpora.words import words_of
from experiments.inference.open_model import open_model
from objectives import MLM
from objectives.inference.elbo import SAMPLES, evidence_lower_bound
from objectives.inference.scoring import pseudo_log_likelihood
from tests.support.huggingface_models import build
from tests.support.objectives import own_scores
from tests.support.random_run import make_run

ROOT = Path(__file__).parents[3]
LINES = ["the old cat", "", " the old cat ", "river", "the old cat", "[MASK] [SEP]", "naïve 猫 \\ x", "a\tb"]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(line + "\n" for line in LINES), encoding="utf-8")
    return path


def records(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def score(run, file, *options):
    return main(["score", str(run), str(file), *options])


def refusal(capsys):
    captured = capsys.readouterr()
    assert captured.out == ""
    (line,) = [line for line in captured.err.splitlines() if not line.startswith("using ")]
    return line


@pytest.mark.parametrize("arm", ["CLM", "MLM", "MLM wordpiece"])
def test_lines_are_scored_in_order(arm, runs, file, capsys):
    assert score(runs[arm], file, "--format", "jsonl") == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert [row["text"] for row in rows] == LINES
    model = open_model(str(runs[arm]))
    name = "perplexity" if arm == "CLM" else "pseudo_perplexity"
    for row, text in zip(rows, LINES, strict=True):
        ids = model.codec.encode(text).ids
        (values,) = own_scores(model.language_model.module, [ids])
        assert row["sum"] == pytest.approx(math.fsum(values), abs=1e-4)
        assert row["tokens"] == len(ids)
        assert row["words"] == len(text.split()) or "猫" in text
        if ids:
            assert row["mean"] == pytest.approx(row["sum"] / len(ids))
            assert row[name] == pytest.approx(math.exp(-row["mean"]))
        else:
            assert row["sum"] == 0 and row["mean"] is None and row[name] is None
    assert rows[0] == rows[4]
    nats, tokens = sum(row["sum"] for row in rows), sum(row["tokens"] for row in rows)
    last = captured.err.splitlines()[-1]
    assert f"{len(LINES)} lines, {tokens} tokens, {sum(row['words'] for row in rows)} words" in last
    assert f"{math.exp(-nats / tokens):.6g}" in last and f"corpus {name.replace('_', '-')}" in last


def test_a_bound_says_how_sure_it_is_and_that_it_is_one(runs, file, capsys):
    assert score(runs["MaskedDiffusion"], file, "--samples", "8", "--format", "jsonl", "--per-token") == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    model = open_model(str(runs["MaskedDiffusion"]))
    expected = evidence_lower_bound(model.language_model, [model.codec.encode(text).ids for text in LINES], 8)
    for row, values in zip(rows, expected, strict=True):
        assert row["sum"] == pytest.approx(math.fsum(values), abs=1e-4)
        assert row["standard_error"] == pytest.approx(values.standard_error, abs=1e-4) and row["samples"] == 8
        assert [value for _, value in row["per_token"]] == pytest.approx(values, abs=1e-4)
        if values:
            assert row["perplexity_bound"] == pytest.approx(math.exp(-row["sum"] / row["tokens"]))
    assert rows[0] == rows[4] and rows[0]["standard_error"] > 0
    nats, tokens = sum(row["sum"] for row in rows), sum(row["tokens"] for row in rows)
    errors = [row["standard_error"] for row in rows]
    whole = math.hypot(2 * errors[0], *errors[1:4], *errors[5:])
    last = captured.err.splitlines()[-1]
    assert f"(standard error {whole:.3g}) nats by elbo" in last
    assert f"corpus perplexity bound {math.exp(-nats / tokens):.6g}" in last
    assert score(runs["MaskedDiffusion"], file, "--method", "pll") == 0
    header = capsys.readouterr().out.splitlines()[0]
    assert "pseudo_perplexity" in header and "samples" not in header
    assert score(runs["MaskedDiffusion"], file) == 0
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.split("\t")[:3] == ["sum", "standard_error", "samples"] and first.split("\t")[2] == str(SAMPLES)


def test_tsv_keeps_one_line_a_line(runs, file, capsys):
    assert score(runs["MLM"], file) == 0
    header, *rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert header == ["sum", "tokens", "words", "mean", "pseudo_perplexity", "text"]
    assert [len(row) for row in rows] == [6] * len(LINES)
    assert rows[1] == ["0", "0", "0", "NA", "NA", ""]
    assert rows[6][5] == "naïve 猫 \\\\ x" and rows[7][5] == "a\\tb"


def test_blanks_around_a_text_are_a_part_of_it(runs, file, capsys):
    score(runs["CLM"], file, "--format", "jsonl")
    rows = records(capsys)
    assert rows[2]["tokens"] > rows[0]["tokens"]


def test_names_of_special_tokens_in_a_text_are_text(runs, file, capsys):
    for run in runs.values():
        model = open_model(str(run))
        for text in ("[MASK]", "[SEP]", "[CLS][PAD]", "a [MASK] b"):
            forged = set(model.language_model.specials) - {model.codec._unknown}
            assert not forged & set(model.codec.encode(text).ids)
    score(runs["MLM"], file, "--format", "jsonl", "--per-token")
    names = [name for name, _ in records(capsys)[5]["per_token"]]
    assert "".join(names).replace("Ġ", " ") == "[MASK] [SEP]" and len(names) > 2


def test_scores_of_each_token(runs, file, capsys):
    score(runs["CLM"], file, "--format", "jsonl", "--per-token", "--end")
    rows = records(capsys)
    assert rows[0]["per_token"][-1][0] == "(end)"
    for row in rows:
        assert math.fsum(value for _, value in row["per_token"]) == pytest.approx(row["sum"])
        assert row["tokens"] == len(row["per_token"])
    assert rows[1]["tokens"] == 1  # an empty text has an end too


def test_word_l2r_goes_by_the_words_of_the_tokenizer(runs, file, capsys):
    run = runs["MLM"]
    score(run, file, "--format", "jsonl", "--method", "pll_word_l2r")
    sums = [row["sum"] for row in records(capsys)]
    model = open_model(str(run))
    encoded = [model.codec.encode(text) for text in LINES]
    expected = pseudo_log_likelihood(model.language_model, [one.ids for one in encoded], [one.words for one in encoded])
    assert sums == pytest.approx([math.fsum(values) for values in expected], abs=1e-4)
    plain = pseudo_log_likelihood(model.language_model, [one.ids for one in encoded])
    assert sums != pytest.approx([math.fsum(values) for values in plain], abs=1e-4)


def test_words_where_the_tokenizer_splits_none():
    assert [("我 今天x y!")[a:b] for a, b in words_of("我 今天x y!")] == ["我", "今", "天", "x", "y!"]


def test_words_are_split_where_the_tokenizer_or_the_text_splits(runs):
    one = open_model(str(runs["MLM"])).codec.encode("the cat, 我今天")
    words: dict[int, set[int]] = {}
    for number, (start, end) in zip(one.words, one.spans, strict=True):
        words.setdefault(number, set()).update(range(start, end))
    texts = ["".join("the cat, 我今天"[place] for place in sorted(places)).strip() for places in words.values()]
    assert texts == ["the", "cat", ",", "我", "今", "天"]


def test_words_of_characters(tmp_path):
    model = open_model(str(make_run(tmp_path / "run", MLM, "character")))
    assert model.codec.encode("今天好").words == [0, 1, 2]
    assert model.codec.encode("ab 天").words == [0, 0, 1, 1]


def test_standard_input(runs, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xef\xbb\xbfthe cat\r\nriver")))
    assert score(runs["MLM"], "-", "--format", "jsonl") == 0
    assert [row["text"] for row in records(capsys)] == ["the cat", "river"]


def test_what_cannot_be_encoded_is_counted(runs, tmp_path, capsys):
    (tmp_path / "lines.txt").write_text("我今天ζζ\n")
    assert score(runs["MLM Chinese"], tmp_path / "lines.txt") == 0
    assert "2 of the tokens stand for text that the model's tokenizer cannot encode" in capsys.readouterr().err
    (tmp_path / "lines.txt").write_text("我今天\n")
    assert score(runs["MLM Chinese"], tmp_path / "lines.txt") == 0
    assert "cannot encode" not in capsys.readouterr().err


def test_output_is_utf8_whatever_the_terminal_says(runs, tmp_path):
    (tmp_path / "lines.txt").write_text("naïve 猫\n")
    command = [sys.executable, "-m", "experiments.cli", "score", str(runs["MLM"]), str(tmp_path / "lines.txt")]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, capture_output=True, cwd=ROOT, env=environment)
    assert done.returncode == 0 and "naïve 猫" in done.stdout.decode()


def test_an_empty_file_has_no_scores(runs, tmp_path, capsys):
    (tmp_path / "empty.txt").write_text("")
    assert score(runs["MLM"], tmp_path / "empty.txt") == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "0 lines, 0 tokens, 0 words" in captured.err and "undefined" in captured.err


def test_json_lines(runs, tmp_path, capsys):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"text": "the cat", "id": 7}\n{"text": "river"}\n')
    assert score(runs["MLM"], path, "--field", "text", "--format", "jsonl") == 0
    assert [row["text"] for row in records(capsys)] == ["the cat", "river"]
    assert score(runs["MLM"], path) == 2
    assert "name the key of the text with --field" in refusal(capsys)
    for bad, message in (
        ('{"text": "a"}\n{"text": \n', "line 2 is not valid JSON"),
        ('{"text": "a"}\n\n{"text": "b"}\n', "line 2 is blank; remove it"),
        ('\n{"text": "b"}\n', "line 1 is blank; remove it"),
        ('{"text": "a"}\n[1]\n', "line 2 is not a JSON object"),
        ('{"text": "a"}\n{"txt": "b"}\n', 'line 2 has no text under the key "text"; its keys are txt'),
        ('{"text": 3}\n', "line 1 has no text"),
        ('{"text": "a", "text": "b"}\n', "line 1 is not valid JSON (a key is repeated)"),
        ('{"text": "a \\ud83d"}\n', "line 1 has an unpaired surrogate"),
        ("[" * 100_000 + "\n", "line 1 is not valid JSON"),
    ):
        path.write_text(bad)
        assert score(runs["MLM"], path, "--field", "text") == 2
        assert message in refusal(capsys)


def test_blank_lines_are_empty_texts_and_end_a_file_of_json_lines(runs, tmp_path, capsys):
    (tmp_path / "lines.jsonl").write_text('{"text": "the cat"}\n{"text": ""}\n\n  \n')
    assert score(runs["MLM"], tmp_path / "lines.jsonl", "--field", "text", "--format", "jsonl") == 0
    assert [row["text"] for row in records(capsys)] == ["the cat", ""]
    (tmp_path / "lines.txt").write_text("the cat\n\nriver\n\n\n")
    assert score(runs["MLM"], tmp_path / "lines.txt", "--format", "jsonl") == 0
    assert [row["text"] for row in records(capsys)] == ["the cat", "", "river", "", ""]


def test_characters_that_a_tokenizer_takes_out_are_counted(tmp_path, capsys):
    model, tokenizer = build("bert")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Punctuation("removed")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "lines.txt").write_text("the cat, river!\n")
    assert score(tmp_path, tmp_path / "lines.txt") == 0
    remark = "2 of the characters have no token: the model's tokenizer leaves them out"
    assert remark in capsys.readouterr().err.splitlines()


def test_too_long_lines_are_refused_by_number_or_cut_into_windows(runs, tmp_path, capsys):
    path = tmp_path / "long.txt"
    path.write_text("the cat\n" + "river house " * 60 + "\n")
    for arm in ("CLM", "MLM"):
        assert score(runs[arm], path) == 2
        message = refusal(capsys)
        assert "long.txt line 2 has" in message and "--window" in message and "room for 46" in message
        assert score(runs[arm], path, "--window", "--format", "jsonl") == 0
        long = records(capsys)[1]
        assert long["tokens"] > 46 and long["sum"] < -10
    assert score(runs["MaskedDiffusion"], path) == 2
    assert "score it by pll in overlapping windows" in refusal(capsys)


def test_bad_requests_get_one_line_and_no_output(runs, file, tmp_path, capsys):
    (tmp_path / "latin.txt").write_bytes("the cat\nna\xefve\n".encode("latin-1"))
    for arguments, message in (
        ((runs["CLM"], file, "--method", "pll"), "cannot be scored by pll; use chain_rule"),
        ((runs["MLM"], file, "--method", "chain_rule"), "use pll or pll_word_l2r"),
        ((runs["MLM"], file, "--end"), "--end goes with chain_rule only"),
        ((runs["MaskedDiffusion"], file, "--end"), "elbo has no end to score"),
        ((runs["MaskedDiffusion"], file, "--window"), "--window does not go with elbo"),
        ((runs["MaskedDiffusion"], file, "--samples", "7"), "--samples must be an even number"),
        ((runs["MLM"], file, "--samples", "8"), "--samples goes with elbo only, not with pll"),
        ((runs["MLM"], file, "--method", "elbo"), "cannot be scored by elbo; use pll or pll_word_l2r"),
        ((runs["MLM"], tmp_path / "missing.txt"), "cannot read"),
        ((runs["MLM"], tmp_path), "cannot read"),
        ((runs["MLM"], tmp_path / "latin.txt"), "line 2 is not UTF-8"),
        ((tmp_path / "missing", file), "there is no run"),
    ):
        assert score(*arguments) == 2
        assert message in refusal(capsys)


def test_a_diverged_model_has_no_scores(runs, file, capsys):
    assert score(runs["MLM diverged"], file) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and "its training has diverged" in captured.err.splitlines()[-1]


def test_scores_do_not_depend_on_how_many_lines_go_together(runs, file, capsys, monkeypatch):
    score(runs["MLM"], file, "--format", "jsonl")
    expected = [row["sum"] for row in records(capsys)]
    monkeypatch.setattr("experiments.inference.methods.TEXTS_AT_ONCE", 1)
    score(runs["MLM"], file, "--format", "jsonl")
    assert [row["sum"] for row in records(capsys)] == pytest.approx(expected, abs=1e-4)


def test_a_reader_who_has_seen_enough_is_no_error(runs, tmp_path):
    path = tmp_path / "many.txt"
    path.write_text("the old cat\n" * 20_000)
    command = f"{sys.executable} -m experiments.cli score {runs['CLM']} {path} | head -n 2; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.splitlines()[2:] == ["141"]
    assert "rror" not in done.stderr and "Traceback" not in done.stderr
