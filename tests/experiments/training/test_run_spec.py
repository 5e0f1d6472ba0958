"""The identity of a run: what determines its weights, and nothing else."""

import hashlib
import json
from dataclasses import dataclass, make_dataclass

import pytest

from experiments import configs, corpora, data
from experiments.languages.hidden_markov import HiddenMarkov
from experiments.text.tokenizer import TokenizerConfig
from experiments.training.command_line import PlannedCLI, lightning_defaults
from experiments.training.run_spec import IDENTITY_VERSION, TRAINER_DEFAULTS, identity
from objectives import CLM, MLM, Budget, Corruption, EncoderConfig, OptimizerConfig, Phase, Phased
from objectives.construction.class_paths import allow_imports
from objectives.construction.identity import REQUIRED, constructor_parameters, shortened, without_defaults
from objectives.corruption import Bernoulli, ExactCount
from objectives.settings import SharedSettings

allow_imports([__name__])


def planned(*more):
    return PlannedCLI(["fit", "--config", str(configs.path_of("mlm")), *more]).run


@pytest.mark.parametrize(
    "arguments",
    [
        ("--results", "elsewhere"),
        ("--name", "other"),
        ("--threads", "2"),
        ("--record_every_steps", "7"),
        ("--checkpoint_every_steps", "7"),
        ("--evaluation.snapshots", "3"),
        ("--evaluation.metrics", "[experiments.evaluation.ValidationLoss]"),
        ("--trainer.logger", "true"),
        ("--trainer.enable_progress_bar", "true"),
        ("--trainer.log_every_n_steps", "5"),
        ("--trainer.profiler", "simple"),
        ("--data.init_args.num_workers", "2"),
        ("--data.init_args.root", "elsewhere"),
        ("--data.init_args.validation_blocks", "7"),
        ("--data.init_args.corpus.init_args.probe_train", "7"),
        # defaults written out
        ("--model.init_args.optimizer.weight_decay", str(OptimizerConfig().weight_decay)),
        ("--model.init_args.encoder.max_length", str(EncoderConfig().max_length)),
        ("--model.init_args.corruption.selection", "objectives.corruption.Bernoulli"),
        ("--trainer.accelerator", "auto"),
    ],
)
def test_where_how_fast_and_how_it_is_measured_leave_the_hash_alone(arguments):
    assert planned(*arguments).hash == planned().hash


@pytest.mark.parametrize(
    "arguments",
    [
        ("--seed_everything", "7"),
        ("--model.init_args.optimizer.learning_rate", "0.01"),
        ("--model.init_args.optimizer.weight_decay", "0.02"),
        ("--model.init_args.budget.tokens", "7000"),
        ("--model.init_args.corruption.rate", "0.2"),
        ("--model.init_args.corruption.mask", "0.7", "--model.init_args.corruption.random", "0.2"),
        ("--model.init_args.corruption.selection", "objectives.corruption.ExactCount"),
        ("--model.init_args.documents", "joined"),
        ("--model.init_args.start", "anywhere/clm-0123abcd"),
        ("--model.init_args.reduction", "sum"),
        ("--data.init_args.block_length", "32"),
        ("--data.init_args.batch_size", "16"),
        ("--data.init_args.tokenizer.size", "1000"),
        ("--data.init_args.corpus.init_args.validation", "0.2"),
        ("--trainer.precision", "bf16-mixed"),
        ("--trainer.accumulate_grad_batches", "2"),
        ("--trainer.deterministic", "true"),
        ("--trainer.devices", "2"),
    ],
)
def test_whatever_the_weights_depend_on_changes_the_hash(arguments):
    assert planned(*arguments).hash != planned().hash


def phased(path="objectives.MLM", corruption=None, shares=(0.5, 0.5), **settings):
    objectives = ({"class_path": "objectives.CLM"}, {"class_path": path, "init_args": {"corruption": corruption or {}}})
    phases = [{"objective": one, "share": share} for one, share in zip(objectives, shares, strict=True)]
    config = {"model": {"class_path": "objectives.Phased", "init_args": {"phases": phases, **settings}}}
    defaults = {"encoder": {"width": 16}, "budget": {"tokens": 64}, "optimizer": {"learning_rate": 0.01}}
    config["model"]["init_args"] |= defaults
    config["data"] = {"class_path": "experiments.data.GeneratedData", "init_args": {"rules": {}}}
    return PlannedCLI(["fit", "--config", json.dumps(config)]).run.hash  # JSON is YAML


def test_phases_are_known_by_what_they_say_however_it_is_written():
    spelled = phased("objectives.mlm.MLM", {"rate": 0.15, "mask": 0.8}, optimizer_state="carried")
    assert spelled == phased()
    others = [phased(corruption={"rate": 0.2}), phased(shares=(0.25, 0.75)), phased(schedule="phase")]
    others.append(phased(optimizer_state="fresh"))
    assert len({phased(), *others}) == 5


@dataclass(frozen=True)
class Inner:
    size: int = 3


@dataclass(frozen=True)
class Outer:
    rate: float
    inner: Inner = Inner()
    names: tuple[str, ...] = ("a",)


def test_defaults_are_left_out_at_any_depth():
    assert without_defaults(Outer, {"rate": 0.1, "inner": {"size": 3}, "names": ["a"]}) == {"rate": 0.1}
    assert without_defaults(Outer, {"rate": 0.1, "inner": {"size": 4}}) == {"rate": 0.1, "inner": {"size": 4}}
    assert without_defaults(Outer, {"rate": 0.1, "names": ["b"]}) == {"rate": 0.1, "names": ["b"]}
    listed = [{"class_path": f"{__name__}.Outer", "init_args": {"rate": 1.0, "inner": {"size": 3}}}]
    assert shortened(listed) == [{"class_path": f"{__name__}.Outer", "init_args": {"rate": 1.0}}]


def test_a_new_field_that_is_off_by_default_changes_no_identity():
    settings = {"rate": 0.1, "inner": {"size": 4}}
    newer = make_dataclass("Outer", [("noise", float, 0.0)], bases=(Outer,), frozen=True)
    assert without_defaults(newer, {**settings, "noise": 0.0}) == without_defaults(Outer, settings)
    assert without_defaults(newer, {**settings, "noise": 0.5}) != without_defaults(Outer, settings)


class NewCLM(CLM):
    def __init__(self, smoothing: float = 0.0, **shared) -> None:
        super().__init__(**shared)
        self.smoothing = smoothing


def test_a_new_argument_of_an_objective_that_is_off_by_default_changes_no_identity():
    settings = {"encoder": {"width": 32}, "budget": {"tokens": 10}}
    assert without_defaults(NewCLM, {**settings, "smoothing": 0.0}) == without_defaults(CLM, settings)


def test_one_more_flag_of_a_newer_lightning_changes_no_identity():
    config, lightning = planned().config, lightning_defaults()
    newer = {**config, "trainer": {**config["trainer"], "fancy": "off"}}
    before = identity(config, lightning)
    assert identity(newer, lightning) != before  # to this Lightning it is no default
    assert identity(newer, {**lightning, "fancy": "off"}) == before


def test_one_more_option_of_fit_changes_no_identity():
    config = planned().config
    assert identity({**config, "fancy": "off"}, {}) == identity(config, {})


def shipped():
    """Every class whose settings are part of an identity."""
    found = [
        CLM,
        MLM,
        Phased,
        Phase,
        SharedSettings,
        Budget,
        OptimizerConfig,
        EncoderConfig,
        Corruption,
        Bernoulli,
        ExactCount,
    ]
    found += [data.TextData, data.GeneratedData, HiddenMarkov, TokenizerConfig]
    return found + [getattr(corpora, name) for name in ("KingJames", "PeoplesDaily", "LocalText", "HubText")]


def test_a_changed_default_raises_the_version():
    defaults = {
        cls.__name__: {
            name: repr(parameter.default)
            for name, parameter in sorted(constructor_parameters(cls).items())
            if parameter.default is not REQUIRED
        }
        for cls in shipped()
    }
    digest = hashlib.sha256(json.dumps([defaults, TRAINER_DEFAULTS], sort_keys=True).encode()).hexdigest()[:16]
    assert (IDENTITY_VERSION, digest) == (1, "930544df0190df50"), (
        "a setting that is part of a run's identity has come, gone or has another default: if an existing default has "
        "changed, raise IDENTITY_VERSION in experiments/training/run_spec.py; then write both here"
    )


def test_settings_outside_the_identity_exist():
    for cls in shipped():
        assert set(getattr(cls, "measured_on", ())) <= constructor_parameters(cls).keys(), cls


def test_what_is_only_measured_on_changes_neither_text_nor_tokens():
    few, many = (data.GeneratedData(HiddenMarkov(4, 8, length=14), 4, n, n, n) for n in (5, 9))
    assert few.fingerprints == many.fingerprints
    assert next(iter(few.train_batches())).tokens_BT.equal(next(iter(many.train_batches())).tokens_BT)
    for cls in (corpora.KingJames, corpora.PeoplesDaily):
        small = cls(**dict.fromkeys(cls.measured_on, 10))
        assert small.fingerprint() == cls().fingerprint()
        one, other = (list(corpus.documents("train"))[:50] for corpus in (small, cls()))
        assert one == other


@pytest.mark.parametrize(
    "arguments",
    [
        (
            "--trainer.callbacks+",
            "pytorch_lightning.callbacks.StochasticWeightAveraging",
            "--trainer.callbacks.swa_lrs",
            "0.1",
        ),
        ("--trainer.strategy", "pytorch_lightning.strategies.FSDPStrategy"),
    ],
)
def test_classes_whose_defaults_or_annotations_are_not_plain_are_part_of_it(arguments):
    assert planned(*arguments).hash != planned().hash
