"""The commands generate and export."""

import json

import pytest
import torch
from minicons import scorer
from transformers import AutoModelForCausalLM, AutoModelForMaskedLM, AutoTokenizer, pipeline

from experiments.cli import main
from experiments.inference.methods import score_texts
from experiments.inference.open_model import open_model, open_trained
from objectives import CLM
from objectives.inference.scoring import total
from tests.support.corpus import as_document
from tests.support.huggingface_models import build
from tests.support.random_run import make_run


def generate(run, *options):
    return main(["generate", str(run), *map(str, options)])


def written(capsys):
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    ("arm", "options"),
    [
        ("CLM", ()),
        ("MLM", ()),
        ("MLM", ("--method", "gibbs", "--sweeps", 2)),
        ("MLM Chinese", ()),
        ("CLM wordpiece", ()),
    ],
)
def test_texts_go_on_from_the_prompt(arm, options, runs, capsys):
    prompt = "我今天" if arm == "MLM Chinese" else "the old"
    options = ("--prompt", prompt, "-n", 3, "--length", 8, "--format", "jsonl", *options)
    assert generate(runs[arm], *options) == 0
    captured = capsys.readouterr()
    rows = [json.loads(line) for line in captured.out.splitlines()]
    assert [row["sample"] for row in rows] == [1, 2, 3]
    assert all(row["text"].startswith(prompt) and row["tokens"] <= 8 for row in rows)
    assert not any(name in row["text"] for row in rows for name in ("[MASK]", "[SEP]", "[CLS]", "[PAD]", "[UNK]"))
    assert ("a masked model defines no joint distribution" in captured.err) == (arm in ("MLM", "MLM Chinese"))
    generate(runs[arm], *options)
    assert written(capsys) == rows
    generate(runs[arm], *options, "--seed", 1)
    assert written(capsys) != rows
    generate(runs[arm], *options, "--temperature", 0)
    assert len({row["text"] for row in written(capsys)}) == 1 or "gibbs" in options


def test_many_texts_are_written_in_parts(runs, capsys, monkeypatch):
    for arm in ("CLM", "MLM"):
        generate(runs[arm], "-n", 5, "--length", 4, "--format", "jsonl")
        together = written(capsys)
        monkeypatch.setattr("objectives.inference.generation.LOGITS_AT_ONCE", 2 * 4 * 300)
        generate(runs[arm], "-n", 5, "--length", 4, "--format", "jsonl")
        assert written(capsys) == together
        monkeypatch.undo()


def test_a_masked_model_says_that_it_has_no_joint_distribution(runs, capsys):
    assert generate(runs["MLM"], "--length", 3) == 0
    first, header, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("# a masked model defines no joint distribution") and header == "sample\ttokens\ttext"
    with pytest.raises(SystemExit):
        main(["generate", "--help"])
    assert "a masked model defines no joint distribution" in " ".join(capsys.readouterr().out.split())
    assert generate(runs["CLM"], "--length", 3) == 0
    assert "#" not in capsys.readouterr().out


def test_masked_diffusion_says_of_what_its_texts_are_samples(runs, capsys):
    options = ("--length", 3, "-n", 4)
    assert generate(runs["MaskedDiffusion"], *options) == 0
    first, *default = capsys.readouterr().out.splitlines()
    assert first.startswith("# samples of the distribution that masked diffusion defines")
    generate(runs["MaskedDiffusion"], *options, "--method", "gibbs", "--sweeps", 1)
    first, *one_sweep = capsys.readouterr().out.splitlines()
    assert first.startswith("# a masked model defines no joint distribution") and one_sweep == default
    generate(runs["MaskedDiffusion"], *options, "--seed", 1)
    assert "masked diffusion defines" in capsys.readouterr().out
    generate(runs["MaskedDiffusion"], *options, "--temperature", 0.5)
    assert "#" not in capsys.readouterr().out
    for arm, other in (("MLM", "random_order"), ("MaskedDiffusion", "unmasking")):
        generate(runs[arm], *options, "--method", other)
        assert f"depends on the procedure ({other})" in capsys.readouterr().out


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_hugging_face_models_generate_too(kind, tmp_path, capsys):
    model, tokenizer = build(kind)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert generate(tmp_path, "--prompt", "the old", "--length", 5, "--format", "jsonl", "--temperature", 0) == 0
    (row,) = written(capsys)
    if kind == "gpt2":
        ids = torch.tensor([[tokenizer.bos_token_id, *tokenizer("the old")["input_ids"]]])
        theirs = model.generate(ids, max_new_tokens=5, do_sample=False, pad_token_id=0)[0]
        assert row["text"] == tokenizer.decode(theirs[1:], skip_special_tokens=True)


@pytest.mark.parametrize(
    ("arm", "options", "message"),
    [
        ("CLM", ("--samples", 0), "--samples must be from 1 to 1000000"),
        ("CLM", ("--length", 0), "--length at least 1"),
        ("CLM", ("--samples", 10**20), "--samples must be from 1 to 1000000"),
        ("CLM", ("--length", 100), "room for 46"),
        ("MLM", ("--temperature", -1), "temperature must be 0 or from"),
        ("MLM", ("--temperature", "nan"), "temperature must be 0 or from"),
        ("MLM", ("--temperature", "inf"), "temperature must be 0 or from"),
        ("CLM", ("--temperature", "1e-310"), "temperature must be 0 or from"),
        ("CLM", ("--seed", 2**63), "the seed must be from 0"),
        ("CLM", ("--seed", -1), "the seed must be from 0"),
        ("MLM", ("--sweeps", 3), "--sweeps goes with --method gibbs"),
        ("CLM diverged", (), "has diverged"),
        ("MLM", ("--top-p", 0), "top_p in (0, 1]"),
        (
            "MLM",
            ("--method", "left_to_right"),
            "cannot generate by left_to_right; use random_order, unmasking or gibbs",
        ),
        ("CLM", ("--method", "gibbs"), "cannot generate by gibbs; use left_to_right"),
        ("MLM", ("--method", "gibbs", "--sweeps", 0), "sweeps must be at least 1"),
    ],
)
def test_bad_requests_get_one_line_and_no_output(arm, options, message, runs, capsys):
    assert generate(runs[arm], *options) == 2
    captured = capsys.readouterr()
    assert message in captured.err and captured.out == ""


@pytest.mark.parametrize("arm", ["CLM", "MLM", "MLM Chinese", "CLM wordpiece"])
def test_an_exported_folder_opens_in_transformers(arm, runs, tmp_path, capsys):
    target = tmp_path / "new" / "model"
    assert main(["export", str(runs[arm]), str(target)]) == 0
    assert capsys.readouterr().out == f"{target}\n"
    assert {path.name for path in target.parent.iterdir()} == {"model"}
    _, objective, tokenizer = open_trained(str(runs[arm]))
    auto = AutoModelForMaskedLM if objective.traits.attention == "bidirectional" else AutoModelForCausalLM
    model, theirs = auto.from_pretrained(target), AutoTokenizer.from_pretrained(target)
    tokens = torch.randint(0, tokenizer.size, (2, 40), generator=torch.Generator().manual_seed(0))
    encoder = objective.encoder
    with torch.no_grad():
        logits = model(input_ids=tokens).logits
        ours = encoder.decode(encoder.head(encoder(tokens, objective.traits.attention)))
    torch.testing.assert_close(logits, ours, atol=1e-4, rtol=0)
    texts = ["the old cat", " two  spaces ", "", "naïve 猫", "我今天去北京", "unbelievable!"]
    documents = [as_document(tokenizer, ids) for ids in tokenizer.encode_batch(texts)]
    causal = objective.traits.attention == "causal"  # [SEP] would end the text instead of letting the model go on
    assert theirs(texts)["input_ids"] == [ids[:-1] if causal else ids for ids in documents]
    first, second = documents[0], documents[3]
    assert theirs(texts[0], texts[3])["input_ids"] == [*first, *(second[:-1] if causal else second[1:])]
    assert theirs.model_max_length == 48
    for role, name in (("cls", "cls"), ("sep", "sep"), ("mask", "mask"), ("pad", "pad"), ("unknown", "unk")):
        assert getattr(theirs, f"{name}_token_id") == tokenizer.roles[role]
    ids = tokenizer.encode_batch(["the old cat"])[0]
    assert theirs.decode(ids) == tokenizer.decode(ids)


@pytest.mark.parametrize("seed", range(3))
def test_an_exported_causal_model_goes_on_with_a_prompt_and_scores_it(seed, tmp_path, capsys):
    """As users of transformers do it: with its pipeline, with `generate`, and by the logits of a tokenized text."""
    run, target = make_run(tmp_path / "run", CLM, seed=seed), tmp_path / "exported"
    assert main(["export", str(run), str(target)]) == 0
    model, tokenizer = AutoModelForCausalLM.from_pretrained(target), AutoTokenizer.from_pretrained(target)
    capsys.readouterr()
    for prompt in ("the old", "And God said,", "a tree likes the house."):
        assert generate(run, "--prompt", prompt, "--length", 12, "--temperature", 0, "--format", "jsonl") == 0
        (row,) = written(capsys)
        settings = {"max_new_tokens": 12, "do_sample": False, "suppress_tokens": [0, 1, 2, 4]}  # ours write no specials
        (ids,) = model.generate(**tokenizer(prompt, return_tensors="pt"), **settings)
        assert tokenizer.decode(ids, skip_special_tokens=True) == row["text"] and len(row["text"]) > len(prompt)
        (whole,) = pipeline("text-generation", model=model, tokenizer=tokenizer)(prompt, **settings)
        assert whole["generated_text"] == row["text"]

    text = "the old cat sees the young bird"
    scored = open_model(str(run))
    (ours,) = score_texts(scored, [scored.codec.encode(text).ids], "chain_rule")
    batch = tokenizer(text, return_tensors="pt")
    with torch.no_grad():
        nats = model(**batch).logits[0].log_softmax(-1)[:-1].gather(1, batch["input_ids"][0, 1:, None])[:, 0]
    assert nats.tolist() == pytest.approx(ours, abs=1e-4) and len(ours) == len(scored.codec.encode(text).ids)
    with torch.no_grad():  # the loss of transformers is the mean over the same tokens
        assert model(**batch, labels=batch["input_ids"]).loss.item() == pytest.approx(
            -total(ours) / len(ours), abs=1e-4
        )
    by_minicons = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    (theirs,) = by_minicons.sequence_score([text], reduction=lambda values: values.sum().item())
    assert theirs == pytest.approx(total(ours), abs=1e-4)


def test_a_prompt_that_the_model_does_not_see_whole_is_remarked_on(runs, capsys):
    for prompt, remark in (
        ("我ζζ", "2 of the tokens stand for text that the model's tokenizer cannot encode\n"),
        ("我", ""),
    ):
        assert generate(runs["CLM Chinese"], "--prompt", prompt, "--length", 2) == 0
        assert capsys.readouterr().err.partition("\n")[2] == remark


def test_nothing_is_overwritten_and_nothing_left_behind(runs, tmp_path, capsys, monkeypatch):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    assert main(["export", str(runs["MLM"]), str(tmp_path / "full")]) == 2
    assert "exists already" in capsys.readouterr().err
    (tmp_path / "empty").mkdir()
    assert main(["export", str(runs["MLM"]), str(tmp_path / "empty")]) == 0
    assert open_model(str(tmp_path / "empty")).mask_names == ("[MASK]",)
    assert main(["export", str(tmp_path / "missing"), str(tmp_path / "never")]) == 2

    assert main(["export", str(runs["CLM diverged"]), str(tmp_path / "never")]) == 2
    assert "not finite" in capsys.readouterr().err
    (tmp_path / ".empty2.tmp").mkdir()  # a kill left it
    assert main(["export", str(runs["MLM"]), str(tmp_path / "empty2")]) == 0
    assert main(["export", str(tmp_path / "empty2"), str(tmp_path / "never")]) == 2
    assert "is a Hugging Face folder; name a run" in capsys.readouterr().err

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("experiments.inference.export.write_tokenizer", interrupted)
    assert main(["export", str(runs["MLM"]), str(tmp_path / "never")]) == 130
    assert sorted(path.name for path in tmp_path.iterdir()) == ["empty", "empty2", "full"]
