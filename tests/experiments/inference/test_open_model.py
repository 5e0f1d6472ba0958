"""Trained models by path, and what is no model."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from experiments.cli import main
from experiments.inference.methods import choose_method, score_texts
from experiments.inference.open_huggingface import is_causal
from experiments.inference.open_model import open_model
from experiments.records import durable, run_directory
from experiments.records.checkpoints import complete
from experiments.records.proof import TrainingProof, write_done
from experiments.text.tokenizer import Tokenizer
from experiments.training.checkpoint_files import DurableCheckpointIO
from objectives import CLM, MLM, load_objective
from objectives.inference.scoring import total
from tests.support.huggingface_models import CAUSAL, MASKED, build
from tests.support.objectives import own_scores
from tests.support.random_run import make_run
from tests.support.tiny import fit_arguments, only_run, run_config, write_text


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_a_run_means_its_last_snapshot(cls, tmp_path, capsys):
    run = make_run(tmp_path / "run", cls)
    snapshot = run / "snapshots" / "tokens-000000001000.ckpt"
    later = run / "snapshots" / "tokens-000000002000.ckpt"  # without its sha256: a kill left it
    later.write_bytes(b"torn")
    by_run, by_file = open_model(str(run)), open_model(str(snapshot))
    assert by_run.path == by_file.path == snapshot
    assert capsys.readouterr().err == f"using {snapshot}\n"
    ids = by_run.codec.encode("the old cat").ids
    objective = load_objective(snapshot)
    assert by_run.language_model.module.state_dict().keys() == objective.state_dict().keys()
    assert by_file.language_model.causal == (cls is CLM)
    assert own_scores(objective, [ids]) == own_scores(by_run.language_model.module, [ids])


def test_a_snapshot_of_a_training_is_a_model(tmp_path):
    config = run_config(write_text(tmp_path / "text.txt"), **{"model.init_args.budget.tokens": 200})
    assert main(fit_arguments(config, tmp_path / "results")) == 0
    model = open_model(str(only_run(tmp_path / "results")))
    assert model.codec.encode("the old cat").ids


@pytest.mark.parametrize("folder", ["grid/runs", "grid"])
def test_a_run_may_be_named_without_its_hash(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run = make_run(Path(folder) / "my-CLM-s1-0a1b2c3d", CLM)
    for other in ("my-CLM-s1-more-0a1b2c3d", "my-CLM-s12-0a1b2c3d", "my-CLM-s1-0a1b2c3", "my-CLM-s1-tokenizer"):
        make_run(Path(folder) / other, MLM)
    (Path(folder) / "my-CLM-s1-ffffffff").mkdir()  # no run
    for name in ("grid/my-CLM-s1", f"{folder}/my-CLM-s1", f"{folder}/my-CLM-s1/", f"{tmp_path}/grid/my-CLM-s1"):
        assert open_model(name).path.resolve() == (run / "snapshots" / "tokens-000000001000.ckpt").resolve()
    for name in ("grid/my-CLM", "grid/CLM-s1", "my-CLM-s1", "grid/my.CLM.s1"):
        with pytest.raises(ValueError, match="there is no run, checkpoint or Hugging Face folder"):
            open_model(name)
    second = make_run(Path(folder) / "my-CLM-s1-00000000", CLM)
    with pytest.raises(ValueError, match="be any of") as refusal:
        open_model("grid/my-CLM-s1")
    assert str(run) in str(refusal.value) and str(second) in str(refusal.value)
    whole = make_run(Path("grid/my-CLM-s1"), CLM)
    assert open_model("grid/my-CLM-s1").path == whole / "snapshots" / "tokens-000000001000.ckpt"


def test_what_is_no_model_is_refused(tmp_path):
    run = make_run(tmp_path / "grid" / "runs" / "mlm", MLM)
    snapshot = run / "snapshots" / "tokens-000000001000.ckpt"
    with pytest.raises(ValueError, match="no run, checkpoint or"):
        open_model(str(tmp_path / "missing"))
    with pytest.raises(ValueError, match=r"it holds runs, name one of them, such as .*grid/runs/mlm"):
        open_model(str(tmp_path / "grid"))
    with pytest.raises(ValueError, match=r"neither a run nor a Hugging Face folder$"):
        open_model(str(run / "snapshots"))
    with pytest.raises(ValueError, match="is no finished checkpoint"):
        open_model(str(run / "tokenizer.json"))
    (run / "tokenizer.json").rename(run / "other.json")
    with pytest.raises(ValueError, match=r"no tokenizer.json in .*: a checkpoint has to stay"):
        open_model(str(run))
    make_run(tmp_path / "chinese", MLM, "character").joinpath("tokenizer.json").rename(run / "tokenizer.json")
    with pytest.raises(ValueError, match="is not the tokenizer that the model"):
        open_model(str(run))
    damaged = bytearray(snapshot.read_bytes())
    damaged[-100] ^= 1
    snapshot.write_bytes(damaged)
    with pytest.raises(ValueError, match="is damaged"):
        open_model(str(run))
    snapshot.unlink()
    with pytest.raises(ValueError, match="has no snapshot yet"):
        open_model(str(run))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("objectives.vocabulary.Vocabulary", "is not an objective"),
        ("os.system", "is not imported: .* add --allow-import os"),
        ("subprocess.run", "is not imported: .* add --allow-import subprocess"),
        ("objectives.base.torch", "stands for something of torch, and is not used"),
        ("objectives.base.abstractmethod", "stands for something of abc, and is not used"),
        ("objectives.base.pl.LightningModule", "cannot import"),
        ("torch.hub.load", "is not imported: .* add --allow-import torch$"),
        ("objectivesx.Mine", "is not imported: .* add --allow-import objectivesx$"),
    ],
)
def test_a_checkpoint_can_have_objectives_made_only(name, reason, tmp_path):
    path = tmp_path / "evil.ckpt"
    torch.save({"objective": {"class_path": name, "arguments": {"command": f"touch {tmp_path}/made"}}}, path)
    with pytest.raises(ValueError, match=reason) as refusal:
        load_objective(path)
    assert name.split(".")[0] in str(refusal.value)
    assert not (tmp_path / "made").exists()


MINE = """
import pathlib
pathlib.Path({made!r}).touch()
from objectives import CLM

class Mine(CLM):
    pass
"""


@pytest.fixture
def foreign(tmp_path, monkeypatch):
    """A run whose snapshot names a class of a package of somebody's, and a file that is there once it was imported."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / f"{tmp_path.name}.py").write_text(MINE.format(made=str(tmp_path / "imported")))
    monkeypatch.syspath_prepend(str(tmp_path / "elsewhere"))
    run = make_run(tmp_path / "run", CLM)
    (snapshot,) = complete(run / "snapshots")
    content = torch.load(snapshot, weights_only=True)
    content["objective"]["class_path"] = f"{tmp_path.name}.Mine"
    DurableCheckpointIO().save_checkpoint(content, snapshot)
    (tmp_path / "lines.txt").write_text("the old cat\n")
    return run, tmp_path / "imported"


@pytest.mark.parametrize("command", ["score", "pairs", "fill", "generate", "export"])
def test_what_a_snapshot_names_is_imported_only_when_it_is_allowed(command, foreign, tmp_path, capsys):
    run, imported = foreign
    pair = {"sentence_good": "the old cat", "sentence_bad": "old the cat"}
    (tmp_path / "pairs.jsonl").write_text(json.dumps(pair))
    rest = {
        "score": [tmp_path / "lines.txt"],
        "pairs": [tmp_path / "pairs.jsonl"],
        "fill": ["the [MASK] cat"],
        "generate": [],
        "export": [tmp_path / "out"],
    }
    arguments = [command, *map(str, [run, *rest[command]])]
    assert main(arguments) == 2
    (error,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
    assert error.endswith(f"if you trust that, add --allow-import {tmp_path.name}")
    assert not imported.exists()
    code = main([*arguments, "--allow-import", tmp_path.name])
    assert imported.exists()
    assert code == 0 or "has no counterpart in transformers" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["my-package", "", "a..b", "*"])
def test_what_is_no_package_cannot_be_allowed(name, foreign, capsys):
    assert main(["score", str(foreign[0]), "nowhere.txt", "--allow-import", name]) == 2
    run, _ = foreign
    with pytest.raises(ValueError, match="--allow-import takes the name of a package"):
        open_model(str(run), [name])


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_a_hugging_face_folder_is_a_model(kind, tmp_path, capsys):
    model, tokenizer = build(kind)
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    opened = open_model(str(tmp_path))
    assert opened.language_model.causal == (kind in CAUSAL)
    assert "[MASK]" in opened.mask_names
    assert kind not in MASKED or tokenizer.mask_token in opened.mask_names
    ids = opened.codec.encode("the old cat").ids
    assert ids == tokenizer("the old cat", add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        row = torch.tensor([[*opened.language_model.bos, *ids, *opened.language_model.eos]])
        everything = torch.ones_like(row, dtype=torch.bool)
        torch.testing.assert_close(opened.language_model.logits(row, everything), model(input_ids=row).logits[0])


def test_a_folder_without_the_head_of_a_language_model_is_refused(tmp_path):
    model, tokenizer = build("bert")
    model.bert.save_pretrained(tmp_path / "headless")
    tokenizer.save_pretrained(tmp_path / "headless")
    with pytest.raises(ValueError, match="neither a masked nor a causal language model with its head"):
        open_model(str(tmp_path / "headless"))
    config = json.loads((tmp_path / "headless" / "config.json").read_text())
    (tmp_path / "headless" / "config.json").write_text(json.dumps({**config, "architectures": ["BertForMaskedLM"]}))
    with pytest.raises(ValueError, match="are missing, such as cls"):  # transformers would draw the head at random
        open_model(str(tmp_path / "headless"))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="cannot read the model in"):
        open_model(str(tmp_path / "empty"))


def test_a_tokenizer_that_cuts_texts_does_not_cut_them_here(tmp_path):
    model, tokenizer = build("gpt2")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    tokenizer.backend_tokenizer.enable_truncation(3)
    tokenizer.backend_tokenizer.enable_padding(length=50)
    tokenizer.backend_tokenizer.save(str(tmp_path / "tokenizer.json"))
    ids = open_model(str(tmp_path)).codec.encode("the old cat sees the young bird").ids
    assert 3 < len(ids) < 50


def test_the_dropout_of_a_tokenizer_is_off_and_said(tmp_path, capsys):
    model, tokenizer = build("gpt2")
    model.save_pretrained(tmp_path)
    tokenizer.backend_tokenizer.model.dropout = 0.5
    tokenizer.save_pretrained(tmp_path)
    opened = open_model(str(tmp_path))
    said = f"the tokenizer in {tmp_path}: BPE dropout of 0.5 is switched off: a text always has the same tokens"
    assert said in capsys.readouterr().err.splitlines()
    assert len({tuple(opened.codec.encode("the old cat sees the young bird").ids) for _ in range(20)}) == 1


def test_ids_that_no_token_has_are_never_filled_in(tmp_path, capsys):
    """A hole in the vocabulary and a surplus behind it, although the model finds their ids likeliest of all."""
    model, tokenizer = build("bert")
    state, last = json.loads(tokenizer.backend_tokenizer.to_str()), len(tokenizer) - 1
    vocabulary = state["model"]["vocab"]
    vocabulary[tokenizer.convert_ids_to_tokens(last)] += 3
    model.resize_token_embeddings(last + 10)
    numbers = set(vocabulary.values())
    with torch.no_grad():
        model.cls.predictions.bias[[number for number in range(last + 10) if number not in numbers]] = 100.0
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    (tmp_path / "tokenizer.json").write_text(json.dumps(state))
    opened = open_model(str(tmp_path))
    assert set(opened.language_model.regular_V.nonzero()[:, 0].tolist()) == numbers - set(tokenizer.all_special_ids)
    assert last + 3 in numbers and opened.codec.unused == (last, last + 1, last + 2)
    assert main(["fill", str(tmp_path), "the [MASK] cat", "--top", "500", "--format", "jsonl"]) == 0
    fills = [json.loads(line)["fills"][0] for line in capsys.readouterr().out.splitlines()]
    assert len(fills) == len(numbers) - len(tokenizer.all_special_ids) + 1 and "" not in fills


def test_a_name_of_the_hub_is_one_that_transformers_knows(tmp_path):
    model, tokenizer = build("bert")
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert open_model(f"hf:{tmp_path}").path == tmp_path
    with pytest.raises(ValueError, match="cannot read the model in"):
        open_model(f"hf:{tmp_path}/missing/name")


def test_a_kind_that_is_both_masked_and_causal_is_refused():
    config = transformers.PretrainedConfig(architectures=["XLMWithLMHeadModel"])
    with pytest.raises(ValueError, match="neither a masked nor a causal"):
        is_causal(config)


def test_a_checkpoint_is_found_from_its_own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(make_run(tmp_path / "run", MLM) / "snapshots")
    assert open_model("tokens-000000001000.ckpt").path.parent.parent == tmp_path / "run"


def test_a_run_that_is_not_whole_is_refused(tmp_path, capsys):
    """A finished run without its last snapshot must not become an older model in silence."""
    run = make_run(tmp_path / "run", MLM)
    open_model(str(run))  # still in training, or killed
    write_done(run, TrainingProof(tokens=2000))
    with pytest.raises(ValueError, match="is incomplete"):
        open_model(str(run))
    write_done(run, TrainingProof(tokens=1000))
    open_model(str(run))


def test_the_tokenizer_of_another_run_is_refused(tmp_path):
    run = make_run(tmp_path / "run", MLM)
    tokenizer = Tokenizer.load(run / "tokenizer.json")
    durable.write_json(run / run_directory.PAIRING, {"tokenizer": tokenizer.fingerprint})
    open_model(str(run))
    other = Tokenizer.train("bpe", 300, ["another text, of the same size"] * 20)
    other.save(run / "tokenizer.json")
    with pytest.raises(ValueError, match="is not the tokenizer that the model"):
        open_model(str(run))


@pytest.fixture
def saved(tmp_path):
    """Saves a Hugging Face model of some kind, after a change, and gives its folder."""

    def save(kind, change=lambda model, tokenizer: None):
        model, tokenizer = build(kind)
        change(model, tokenizer)
        model.save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        return tmp_path

    return save


def test_a_folder_without_its_tokenizer_is_refused(saved):
    for kind in ("bert", "gpt2"):
        folder = saved(kind)
        (folder / "tokenizer.json").unlink()
        with pytest.raises(ValueError, match=r"tokenizer.json|cannot read the model"):
            open_model(str(folder))


def test_damaged_weights_are_refused(saved):
    weights = saved("bert") / "model.safetensors"
    for damaged in (weights.read_bytes()[:500], b"", b"version https://git-lfs.github.com/spec/v1"):
        weights.write_bytes(damaged)
        with pytest.raises(ValueError, match="cannot read the model in"):
            open_model(str(weights.parent))


def test_weights_that_do_not_fit_the_configuration_are_refused(saved):
    folder = saved("bert")
    config = json.loads((folder / "config.json").read_text())
    for change, message in (
        ({"num_hidden_layers": 1}, "belong to no layer"),
        ({"intermediate_size": 32}, "another shape"),
    ):
        (folder / "config.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(ValueError, match=message):
            open_model(str(folder))


def test_a_causal_model_that_sees_ahead_is_refused(tmp_path):
    _, tokenizer = build("bert")
    sizes = {"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 64}
    for decoder in (True, False):
        config = transformers.BertConfig(vocab_size=len(tokenizer), is_decoder=decoder, initializer_range=0.5, **sizes)
        transformers.BertLMHeadModel(config).save_pretrained(tmp_path)
        tokenizer.save_pretrained(tmp_path)
        if decoder:
            assert open_model(str(tmp_path)).language_model.causal
            continue
        with pytest.raises(ValueError, match="sees later tokens"):
            open_model(str(tmp_path))


def test_tokens_that_a_model_has_never_seen(saved, capsys):
    folder = saved("bert", lambda model, tokenizer: tokenizer.add_tokens(["zebra"]))
    model = open_model(str(folder))
    assert model.codec.unknown(model.codec.encode("the zebra").ids) == 1
    folder = saved("gpt2", lambda model, tokenizer: tokenizer.add_special_tokens({"bos_token": "<begin>"}))
    with pytest.raises(ValueError, match="they do not belong together"):
        open_model(str(folder))


def test_code_in_a_folder_does_not_run(saved, monkeypatch):
    folder = saved("bert")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "mine", "auto_map": {"AutoConfig": "x.Mine", "AutoModelForMaskedLM": "x.Mine"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "x.py").write_text("raise SystemExit('it ran')")
    monkeypatch.setattr("builtins.input", lambda *_: "y")
    with pytest.raises(ValueError, match="cannot read the model in"):
        open_model(str(folder))


def test_a_bert_with_both_heads_is_a_masked_model(tmp_path):
    _, tokenizer = build("bert")
    config = transformers.BertConfig(
        vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
    )
    transformers.BertForPreTraining(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    assert not open_model(str(tmp_path)).language_model.causal


def test_scores_do_not_change_by_an_export(tmp_path):
    for cls in (CLM, MLM):
        run = make_run(tmp_path / cls.__name__, cls)
        assert main(["export", str(run), str(tmp_path / f"{cls.__name__}-hf")]) == 0
        ours, theirs = open_model(str(run)), open_model(str(tmp_path / f"{cls.__name__}-hf"))
        text = "the old [MASK] cat"
        assert ours.codec.encode(text) == theirs.codec.encode(text)
        scores = [score_texts(model, [model.codec.encode(text).ids], choose_method(model)) for model in (ours, theirs)]
        assert scores[0][0] == pytest.approx(scores[1][0], abs=1e-4)
        assert total(scores[0][0]) < -1
