"""Our encoder exported to Hugging Face classes, and Hugging Face models scored by our functions."""

import json

import pytest
import torch
from minicons import scorer
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformers import PreTrainedTokenizerFast

from objectives import CLM, MLM, EncoderConfig
from objectives.inference.huggingface_export import parameter_names, write_huggingface
from objectives.inference.huggingface_model import HuggingFaceLanguageModel
from objectives.inference.scoring import chain_rule, pseudo_log_likelihood
from tests.support.exported import exported
from tests.support.huggingface_models import CAUSAL, MASKED, TEXTS
from tests.support.huggingface_models import build as build_pretrained
from tests.support.objectives import VOCABULARY, all_objectives, build, enlarge, make_batch


@pytest.mark.parametrize("changes", [{}, {"intermediate": 40, "rope_theta": 500.0, "norm_eps": 1e-6, "depth": 1}])
@pytest.mark.parametrize("cls", [CLM, MLM])
def test_an_exported_model_has_the_same_logits_and_weights(cls, changes):
    objective = build(cls, encoder=EncoderConfig(**{"width": 32, "depth": 3, "heads": 4, "max_length": 64} | changes))
    encoder = objective.eval().encoder
    for name, parameter in encoder.named_parameters():  # norms and the bias must be exported too
        torch.nn.init.normal_(parameter, mean=float(name.endswith("norm.weight")), std=0.2)
    model = exported(objective)
    tokens = make_batch().tokens_BT
    with torch.no_grad():
        expected = encoder.decode(encoder.head(encoder(tokens, objective.traits.attention)))
        logits = model(input_ids=tokens, attention_mask=torch.ones_like(tokens)).logits
    torch.testing.assert_close(logits, expected, atol=1e-4, rtol=0)
    assert expected.std() > 0.5
    theirs, weights = model.state_dict(), encoder.state_dict()
    names = dict(parameter_names(encoder.config.depth, decoder=cls is CLM))
    assert names.keys() == weights.keys()
    for name, parts in names.items():
        assert torch.equal(torch.cat([theirs[part] for part in parts]), weights[name]), name
    assert theirs.keys() == {part for parts in names.values() for part in parts} | {"decoder.weight"}


@pytest.mark.parametrize("cls", [CLM, MLM])
def test_an_exported_folder_is_what_transformers_would_have_written(cls, tmp_path):
    write_huggingface(build(cls), tmp_path / "ours")
    exported(build(cls)).save_pretrained(tmp_path / "theirs")
    ours, theirs = (load_file(tmp_path / name / "model.safetensors") for name in ("ours", "theirs"))
    assert ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)
    config, whole = (json.loads((tmp_path / name / "config.json").read_text()) for name in ("ours", "theirs"))
    assert config.items() <= whole.items()


def test_an_objective_without_a_counterpart_is_refused(tmp_path):
    for cls in all_objectives():
        if (objective := build(cls)).traits.huggingface is None:
            with pytest.raises(ValueError, match=f"{cls.__name__} has no counterpart in transformers"):
                write_huggingface(objective, tmp_path / "never")
    assert not any(tmp_path.iterdir())


def test_an_exported_model_has_the_special_tokens():
    for cls in (CLM, MLM):
        config = exported(build(cls)).config
        ids = (config.pad_token_id, config.bos_token_id, config.eos_token_id, config.cls_token_id, config.sep_token_id)
        expected = (VOCABULARY.pad, VOCABULARY.cls, VOCABULARY.sep, VOCABULARY.cls, VOCABULARY.sep)
        assert ids == expected


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_only_target_positions_reach_the_head(kind):
    model, tokenizer = build_pretrained(kind)
    language_model = HuggingFaceLanguageModel(model, tokenizer, kind in CAUSAL)
    tokens = torch.randint(5, len(tokenizer), (3, 20), generator=torch.Generator().manual_seed(0))
    targeted = torch.rand(3, 20, generator=torch.Generator().manual_seed(1)) < 0.3
    with torch.no_grad():
        expected = model(input_ids=tokens).logits[targeted]
        torch.testing.assert_close(language_model.logits(tokens, targeted), expected, atol=1e-4, rtol=0)
        torch.testing.assert_close(model(input_ids=tokens).logits[targeted], expected)  # and the hook is gone


def test_a_head_with_other_inputs_is_refused():
    model, tokenizer = build_pretrained("bert")
    model.forward = lambda input_ids: type("Output", (), {"logits": torch.zeros(*input_ids.shape, 7)})
    with pytest.raises(ValueError, match="not supported"):
        HuggingFaceLanguageModel(model, tokenizer, False).logits(
            torch.full((2, 9), 5), torch.eye(9, dtype=torch.bool)[:2]
        )


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_special_tokens_are_those_of_the_kind(kind):
    model, tokenizer = build_pretrained(kind)
    language_model = HuggingFaceLanguageModel(model, tokenizer, kind in CAUSAL)
    bos, eos = {
        "bert": ("[CLS]", "[SEP]"),
        "modernbert": ("[CLS]", "[SEP]"),
        "roberta": ("<s>", "</s>"),
        "modernbert-decoder": ("<s>", "</s>"),
        "gpt2": ("<|endoftext|>", None),
    }[kind]
    assert language_model.bos == (tokenizer.convert_tokens_to_ids(bos),)
    assert language_model.eos == (() if eos is None else (tokenizer.convert_tokens_to_ids(eos),))
    assert language_model.end_of_text == tokenizer.eos_token_id
    assert language_model.max_length == (62 if kind == "roberta" else 64)
    longest = torch.full((1, language_model.max_length), 7)
    with torch.no_grad():
        language_model.logits(longest, longest == 7)  # RoBERTa has fewer positions than its configuration says


def test_tokenizers_of_another_size_than_the_model():
    model, tokenizer = build_pretrained("gpt2")
    assert HuggingFaceLanguageModel(model, tokenizer, True).regular_V.sum() == len(tokenizer) - 1
    model.resize_token_embeddings(len(tokenizer) + 7)  # rounded up, as many models are
    language_model = HuggingFaceLanguageModel(model, tokenizer, True)
    assert language_model.regular_V.sum() == len(tokenizer) - 1 and not language_model.regular_V[len(tokenizer) :].any()
    vocabulary = tokenizer.get_vocab()
    last = max(vocabulary, key=lambda token: vocabulary[token])
    state = json.loads(tokenizer.backend_tokenizer.to_str())
    state["model"]["vocab"][last] += 5  # a hole in front of the last token: there are fewer tokens than ids
    holed = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)), **tokenizer.special_tokens_map
    )
    regular = HuggingFaceLanguageModel(model, holed, True).regular_V
    assert len(holed) == len(tokenizer) and regular.nonzero()[:, 0].tolist() == sorted(
        set(holed.get_vocab().values()) - set(holed.all_special_ids)
    )
    model.resize_token_embeddings(len(tokenizer))
    tokenizer.add_special_tokens({"pad_token": "[PAD]"})
    assert HuggingFaceLanguageModel(model, tokenizer, True).regular_V.sum() == len(tokenizer) - 2
    tokenizer.model_max_length = 20
    assert HuggingFaceLanguageModel(model, tokenizer, True).max_length == 20


def test_a_causal_model_without_a_beginning_of_sentence_token():
    model, tokenizer = build_pretrained("gpt2")
    tokenizer.bos_token = None
    language_model = HuggingFaceLanguageModel(model, tokenizer, True)
    assert language_model.bos == ()
    ((first, *others),) = chain_rule(language_model, [[5, 6, 7]])
    assert first is None and all(value < 0 for value in others)


@pytest.mark.parametrize("kind", [*MASKED, *CAUSAL])
def test_scores_by_brute_force(kind):
    model, tokenizer = build_pretrained(kind)
    language_model = HuggingFaceLanguageModel(model, tokenizer, kind in CAUSAL)
    ids = tokenizer(TEXTS, add_special_tokens=False)["input_ids"]
    scores = (chain_rule if language_model.causal else pseudo_log_likelihood)(language_model, ids)
    for sentence, values in zip(ids, scores, strict=True):
        row, first = [*language_model.bos, *sentence, *language_model.eos], len(language_model.bos)
        assert len(values) == len(sentence)
        for place, (token, value) in enumerate(zip(sentence, values, strict=True), start=first):
            inputs = list(row)
            if not language_model.causal:
                inputs[place] = tokenizer.mask_token_id
            with torch.no_grad():
                logits = model(input_ids=torch.tensor([inputs])).logits[0, place - language_model.causal]
            assert value == pytest.approx(logits.log_softmax(-1)[token].item(), abs=1e-4)


@pytest.mark.parametrize("metric", ["original", "within_word_l2r"])
def test_pseudo_log_likelihood_is_that_of_minicons(metric):
    model, tokenizer = build_pretrained("bert")
    enlarge(model.cls)
    tokenizer.batch_encode_plus = tokenizer.__call__  # gone in transformers 5, but minicons 0.3.39 calls it
    theirs = scorer.MaskedLMScorer(model, "cpu", tokenizer=tokenizer)
    expected = theirs.compute_stats(theirs.prepare_text(TEXTS, PLL_metric=metric))
    encoded = [tokenizer(text, add_special_tokens=False) for text in TEXTS]
    words = [one.word_ids() for one in encoded] if metric == "within_word_l2r" else None
    language_model = HuggingFaceLanguageModel(model, tokenizer, causal=False)
    ours = pseudo_log_likelihood(language_model, [one["input_ids"] for one in encoded], words)
    assert any(len(set(one.word_ids())) < len(one.word_ids()) for one in encoded)
    for one, other in zip(ours, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def test_chain_rule_is_that_of_minicons():
    model, tokenizer = build_pretrained("gpt2")
    theirs = scorer.IncrementalLMScorer(model, "cpu", tokenizer=tokenizer)
    expected = [
        [value for _, value in tokens][1:] for tokens in theirs.token_score(TEXTS, bos_token=True, surprisal=False)
    ]
    language_model = HuggingFaceLanguageModel(model, tokenizer, causal=True)
    ours = chain_rule(language_model, tokenizer(TEXTS, add_special_tokens=False)["input_ids"])
    for one, other in zip(ours, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
