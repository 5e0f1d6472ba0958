"""The command fill: one form of output for one blank or many, for masked and causal models."""

import json
import math

import pytest
import torch
from tokenizers import pre_tokenizers

from experiments.cli import main
from experiments.inference.blanks import TextWithBlanks, without_chinese_spaces
from experiments.inference.methods import choose_method, score_texts
from experiments.inference.open_model import open_model
from objectives.inference.scoring import pseudo_log_likelihood
from tests.support.huggingface_models import build


def fill(run, text, *options):
    return main(["fill", str(run), text, "--format", "jsonl", *map(str, options)])


def written(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def scored(run, text):
    model = open_model(str(run))
    (values,) = score_texts(model, [model.codec.encode(text).ids], choose_method(model))
    return math.fsum(values)


@pytest.mark.parametrize("arm", ["CLM Chinese", "MLM Chinese"])
def test_one_blank_and_many_have_one_form(arm, runs, capsys):
    for text in ("我 今天 [MASK] 北京", "我[MASK]天[MASK]北京", "[MASK][MASK]"):
        assert fill(runs[arm], text, "--top", 3) == 0
        rows = written(capsys)
        blanks = text.count("[MASK]")
        places = [str(number + 1) for number in range(blanks)]
        assert list(dict.fromkeys(row["blank"] for row in rows)) == [*places, "all"]
        for place in places:
            best = [row for row in rows if row["blank"] == place]
            assert [row["rank"] for row in best] == [1, 2, 3]
            assert [row["probability"] for row in best] == sorted((row["probability"] for row in best), reverse=True)
            assert all(len(row["fills"]) == 1 and row["text"].count("[MASK]") == blanks - 1 for row in best)
            assert all((row["sentence_nats"] is None) == (blanks > 1) for row in best)
        together = [row for row in rows if row["blank"] == "all"]
        assert all(len(row["fills"]) == blanks and "[MASK]" not in row["text"] for row in together)
        for row in together:
            assert row["sentence_nats"] == pytest.approx(scored(runs[arm], row["text"]), abs=1e-4)


@pytest.mark.parametrize("arm", ["CLM Chinese", "MLM Chinese"])
def test_spaces_between_chinese_characters_are_left_out(arm, runs, capsys):
    fill(runs[arm], "我 今天 [MASK] 北京")
    spaced = written(capsys)
    fill(runs[arm], "我今天[MASK]北京")
    assert written(capsys) == spaced


def test_a_masked_model_shows_its_distribution(runs, capsys):
    fill(runs["MLM Chinese"], "我今天[MASK]北京", "--top", 1000)
    rows = [row for row in written(capsys) if row["blank"] == "1"]
    model = open_model(str(runs["MLM Chinese"]))
    left, right = model.codec.encode("我今天").ids, model.codec.encode("北京").ids
    row = torch.tensor(
        [[*model.language_model.bos, *left, model.language_model.mask, *right, *model.language_model.eos]]
    )
    with torch.no_grad():
        shares = model.language_model.logits(row, row == model.language_model.mask)[0].double().softmax(-1)
    regular = [
        token for token in range(model.language_model.vocabulary_size) if token not in model.language_model.specials
    ]
    assert {row["fills"][0]: pytest.approx(row["probability"], abs=1e-6) for row in rows} == {
        model.codec.name(token): shares[token].item() for token in regular
    }


def test_a_causal_model_ranks_whole_sentences(runs, capsys):
    fill(runs["CLM Chinese"], "我今天[MASK]北京", "--top", 1000)
    rows = [row for row in written(capsys) if row["blank"] == "1"]
    nats = [scored(runs["CLM Chinese"], row["text"]) for row in rows]
    assert nats == sorted(nats, reverse=True)
    shares = torch.tensor(nats, dtype=torch.float64).softmax(0)
    assert [row["probability"] for row in rows] == pytest.approx(shares.tolist(), abs=1e-5)
    assert sum(row["probability"] for row in rows) == pytest.approx(1)
    fill(runs["CLM Chinese"], "我今天[MASK]北京", "--top", 1000, "--width", 2)
    assert len([row for row in written(capsys) if row["blank"] == "1"]) == 2


def test_shares_of_a_blank_add_up_over_the_others(runs, capsys):
    fill(runs["CLM Chinese"], "我[MASK]天[MASK]", "--top", 1000)
    rows = written(capsys)
    for place in (0, 1):
        for row in [row for row in rows if row["blank"] == str(place + 1)]:
            both = [
                one["probability"] for one in rows if one["blank"] == "all" and one["fills"][place] == row["fills"][0]
            ]
            assert row["probability"] == pytest.approx(sum(both), abs=1e-9)


@pytest.mark.parametrize("arm", ["CLM", "MLM", "MLM wordpiece", "MLM Chinese"])
def test_candidates_are_scored_whole(arm, runs, capsys):
    text, candidates = (
        ("我[MASK]北京", ["去", "今天在", "天"])
        if "Chinese" in arm
        else ("the [MASK] sees", ["cat", "old bird", "river"])
    )
    assert fill(runs[arm], text, "--candidates", *candidates) == 0
    rows = [row for row in written(capsys) if row["blank"] == "all"]
    assert {row["text"] for row in rows} == {text.replace("[MASK]", one) for one in candidates}
    model, nats = open_model(str(runs[arm])), {}
    for candidate in candidates:
        whole = text.replace("[MASK]", candidate)
        encoded = model.codec.encode(whole)
        if arm == "CLM":
            nats[candidate] = scored(runs[arm], whole)
            continue
        start = whole.index(candidate)
        inside = [a < start + len(candidate) and b > start for a, b in encoded.spans]
        assert sum(inside) >= (1 if len(candidate) < 4 else 2)
        total = 0.0  # by hand: hide the whole candidate, then show it piece by piece
        places = [place for place, there in enumerate(inside) if there]
        for number, place in enumerate(places):
            row = torch.tensor([[*model.language_model.bos, *encoded.ids, *model.language_model.eos]])
            hidden = [later + len(model.language_model.bos) for later in places[number:]]
            row[0, hidden] = model.language_model.mask
            targeted = torch.zeros_like(row, dtype=torch.bool)
            targeted[0, hidden[0]] = True
            with torch.no_grad():
                nats_V = model.language_model.logits(row, targeted)[0].double().log_softmax(-1)
            total += nats_V[encoded.ids[place]].item()
        nats[candidate] = total
    shares = torch.tensor([nats[row["fills"][0]] for row in rows], dtype=torch.float64).softmax(0)
    assert [row["probability"] for row in rows] == pytest.approx(shares.tolist(), abs=1e-5)
    for row in rows:
        assert row["sentence_nats"] == pytest.approx(scored(runs[arm], row["text"]), abs=1e-4)


def test_candidates_for_several_blanks_are_combined(runs, capsys):
    assert fill(runs["MLM Chinese"], "[MASK]今[MASK]", "--candidates", "我", "天气", "--top", 9) == 0
    rows = [row for row in written(capsys) if row["blank"] == "all"]
    assert {tuple(row["fills"]) for row in rows} == {(a, b) for a in ("我", "天气") for b in ("我", "天气")}
    assert sum(row["probability"] for row in rows) == pytest.approx(1)


def test_a_blank_takes_the_space_in_front_of_it(runs, capsys):
    model = open_model(str(runs["MLM"]))
    assert model.codec.spaces_lead
    text = TextWithBlanks.parse("the [MASK] sees", model)
    assert text.template == (*model.codec.encode("the").ids, None, *model.codec.encode(" sees").ids)
    assert text.with_fills({0: " cat"}) == "the cat sees" and text.with_fills({}) == "the [MASK] sees"
    assert not open_model(str(runs["MLM Chinese"])).codec.spaces_lead
    pieces = open_model(str(runs["MLM wordpiece"])).codec
    assert pieces.spaces_lead
    assert {pieces.text_of(token) for token in pieces.encode("cat ther").ids} == {" cat", " the", "r"}


@pytest.mark.parametrize("arm", ["CLM", "MLM", "MLM wordpiece"])
def test_the_text_shown_is_the_one_that_was_scored(arm, runs, capsys):
    """A token without a space in front is glued to the word before it, as the model saw it."""
    model = open_model(str(runs[arm]))
    codec = model.codec
    whole = [token for token in range(model.language_model.vocabulary_size) if "�" not in codec.decode([token])]
    tokens = {codec.text_of(token): token for token in whole}
    for text in ("the [MASK] sees the bird", "[MASK] old cat", "the old[MASK]"):
        assert fill(runs[arm], text, "--top", 60) == 0
        template, glued = TextWithBlanks.parse(text, model), 0
        for row in written(capsys):
            if row["fills"][0] not in tokens:  # a part of a character
                continue
            ids = template.with_tokens([tokens[row["fills"][0]]])
            assert row["text"].strip() == codec.decode(ids).strip().removeprefix("##")
            (values,) = score_texts(model, [ids], choose_method(model))
            assert row["sentence_nats"] == pytest.approx(math.fsum(values), abs=1e-4)
            glued += " " not in row["fills"][0]
        assert glued


def test_a_model_of_another_kind_has_its_own_mask(tmp_path, capsys):
    model, tokenizer = build("roberta")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    fill(tmp_path, "the <mask> sees")
    own = written(capsys)
    fill(tmp_path, "the [MASK] sees")
    assert written(capsys) == own
    assert len(own) == 6


@pytest.mark.parametrize("arm", ["CLM Chinese", "MLM Chinese"])
def test_text_that_the_model_does_not_see_is_remarked_on(arm, runs, capsys):
    remark = "{} of the tokens stand for text that the model's tokenizer cannot encode\n"
    for arguments, count in (
        (("我ζ[MASK]ζζ",), 3),
        (("我[MASK]天",), 0),
        (("我ζ[MASK]天", "--candidates", "今", "ζζ"), 3),
    ):
        assert fill(runs[arm], *arguments) == 0
        err = capsys.readouterr().err
        assert (remark.format(count) in err) == (count > 0) and ("cannot encode" in err) == (count > 0)


def test_the_output_says_what_the_model_can_see(runs, capsys):
    for arm, words in (("CLM", "does not see what follows"), ("MLM", "not a joint probability")):
        assert main(["fill", str(runs[arm]), "the [MASK] sees"]) == 0
        first, header, *_ = capsys.readouterr().out.splitlines()
        assert first.startswith("# ") and words in first
        assert header == "blank\trank\tfills\tprobability\tsentence_nats\ttext"


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("the cat", (), "has no blank; write [MASK]"),
        ("the [MASK]", ("--top", 0), "must be at least 1"),
        ("the [MASK]", ("--width", 0), "must be at least 1"),
        ("the [MASK]", ("--candidates", "cat", " "), "the candidate '' has no token"),
        ("the [MASK]", ("--candidates", "cat", "--width", 5), "leave it out"),
        ("[MASK] " * 20, ("--candidates", "cat", "dog"), "more than 1024"),
        ("river " * 60 + "[MASK]", (), "too long"),
        ("river " * 60 + "[MASK]", ("--candidates", "cat"), "room for 46"),
    ],
)
@pytest.mark.parametrize("arm", ["CLM", "MLM"])
def test_bad_requests_get_one_line_and_no_output(arm, text, options, message, runs, capsys):
    assert fill(runs[arm], text, *options) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


def test_a_width_is_refused_where_nothing_is_searched(runs, capsys):
    assert fill(runs["MLM"], "the [MASK]", "--width", 5) == 2
    assert "--width goes with causal models" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("我 今天 [MASK] 北京", ["我今天", "北京"]),
        ("去 [MASK] now", ["去", " now"]),
        ("we [MASK] 北 京", ["we ", "北京"]),
        ("好 ， 我 [MASK] 。", ["好，我", "。"]),
        ("the old [MASK] sees", ["the old ", " sees"]),
    ],
)
def test_which_spaces_are_left_out(text, parts):
    assert without_chinese_spaces(text.split("[MASK]")) == parts


def test_fills_that_read_alike_are_not_mixed_up(runs, capsys):
    """Parts of characters all read as �; each is a fill of its own."""
    assert fill(runs["CLM"], "the[MASK][MASK]", "--top", 1000, "--width", 1000) == 0
    rows = [row for row in written(capsys) if row["blank"] == "2"]
    names = [row["fills"][0] for row in rows]
    assert len(set(names)) < len(names)
    assert sum(row["probability"] for row in rows) == pytest.approx(1)


def test_a_tokenizer_that_opens_every_text_with_a_space_is_refused(tmp_path, capsys):
    model, tokenizer = build("gpt2")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert fill(tmp_path, "the [MASK] sees") == 2
    assert "puts a space in front of every piece of text" in capsys.readouterr().err


def test_word_l2r_is_what_scores_candidates(runs):
    """A candidate's own tokens are one word to the score; the rest of the sentence stays visible."""
    model = open_model(str(runs["MLM Chinese"]))
    ids = model.codec.encode("我今天").ids
    (values,) = pseudo_log_likelihood(model.language_model, [ids], [[0, -1, -1]])
    (plain,) = pseudo_log_likelihood(model.language_model, [ids])
    assert values[0] == pytest.approx(plain[0], abs=1e-5) and values[2] == pytest.approx(plain[2], abs=1e-5)
    assert values[1] != pytest.approx(plain[1], abs=1e-3)
