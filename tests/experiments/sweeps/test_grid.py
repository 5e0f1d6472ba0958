"""Grids: what becomes of axes, names and overrides; and every shipped YAML."""

import json
from pathlib import Path

import pytest
import yaml

from experiments import configs
from experiments.cli import main
from experiments.sweeps.grid import find_grid, merged, read_grid
from experiments.sweeps.sweep import plan
from experiments.training.command_line import PlannedCLI
from tests.support.tiny import RULES, grid_base, write_text

ROOT = Path(__file__).parents[3] / "experiments"


def write_grid(path, **content):
    path.write_text(yaml.safe_dump({"base": {}, "seeds": [1], **content}, sort_keys=False))
    return path


def test_cells_are_the_product_of_axes_and_seeds(tmp_path):
    grid = read_grid(
        write_grid(
            tmp_path / "g.yaml",
            base={"model": {"init_args": {"a": 1, "b": 2}}},
            axes={
                "arm": {"one": {"model.class_path": "A"}, "two 50%": {"model": {"class_path": "B"}}},
                "model.init_args.rate": [0.1, 0.2],
            },
            seeds=[5, 6],
        )
    )
    assert [cell.name for cell in grid.cells] == [
        f"{arm}-{rate}-s{seed}" for arm in ("one", "two-50") for rate in (0.1, 0.2) for seed in (5, 6)
    ]
    last = grid.cells[-1]
    assert last.arm == "two 50%; 0.2"
    assert last.factors == {"arm": "two 50%", "rate": "0.2"}
    assert last.config == {
        "model": {"class_path": "B", "init_args": {"a": 1, "b": 2, "rate": 0.2}},
        "seed_everything": 6,
    }


def test_axes_with_one_last_part_keep_their_whole_names(tmp_path):
    axes = {"model.size": [1], "data.size": [2], "rate": [3]}
    (cell,) = read_grid(write_grid(tmp_path / "g.yaml", axes=axes)).cells
    assert cell.factors == {"model.size": "1", "data.size": "2", "rate": "3"}


@pytest.mark.parametrize("reference", ["one", "one; 0.1", 0.2])
def test_a_reference_names_an_arm_or_a_level(reference, tmp_path):
    axes = {"arm": {"one": {}, "two": {}}, "rate": [0.1, 0.2]}
    assert len(read_grid(write_grid(tmp_path / "g.yaml", axes=axes, reference=reference)).cells) == 4


def test_merged_lays_dotted_over_nested_and_leaves_its_arguments_alone():
    base = {"a": {"b": {"c": 1, "d": [1, 2]}}}
    result = merged(base, {"a.b.c": 3, "a": {"e": 4}, "a.b": {"d": [5]}})
    assert result == {"a": {"b": {"c": 3, "d": [5]}, "e": 4}}
    assert base == {"a": {"b": {"c": 1, "d": [1, 2]}}}
    result["a"]["b"]["c"] = 9
    assert base["a"]["b"]["c"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ({"seeds": []}, "seeds"),
        ({"seeds": [True]}, "seeds"),
        ({"axis": {}}, "axes, base"),
        ({"axes": {"arm": {}}}, "axis arm"),
        ({"axes": {"rate": [0.1, 0.1]}}, "axis rate"),
        ({"axes": {"arm": {"a": 3}}}, "axis arm"),
        ({"seeds": [1, 1]}, "-s1"),
        ({"base": None}, "base"),
        ({"axes": []}, "axes"),
        ({"imports": "my_package"}, "imports"),
        ({"axes": {"arm": {"a": {}, "b": {}}}, "reference": "c"}, "reference c names neither .* give one of a, b"),
        ({"axes": {"arm": {"a b": {"x": 1}, "a-b": {"x": 2}}}}, "a-b-s"),
        ({"base": {"seed_everything": 3}}, "seed_everything cannot be set in a grid; give seeds"),
        ({"axes": {"arm": {"a": {"name": "b"}}}}, "name cannot be set in a grid"),
        ({"axes": {"results": ["a"]}}, "results cannot be set in a grid"),
        (
            {"axes": {"arm": {"a": {}, "b": {"m": {"rate": 0.15}}}, "m.rate": [0.15, 0.3]}},
            r"level b of arm and level 0\.3 of m\.rate both set m\.rate, and not alike",
        ),
        ({"axes": {"m": {"a": {"m.x": 1}}, "n": {"b": {"m": None}}}}, r"both set m\.x, and not alike"),
        ({"axes": {"m": {"a": {"m.x": 1}}, "n": {"b": {"m": {"x": {"y": 2}}}}}}, r"both set m\.x\.y"),
    ],
)
def test_what_is_no_grid_is_refused(content, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        read_grid(write_grid(tmp_path / "g.yaml", **content))


def test_axes_may_set_one_thing_alike_and_override_the_base(tmp_path):
    axes = {"arm": {"a": {"m.x": 1, "m.y": 2}, "b": {"m.x": 1}}, "other": {"c": {"m": {"x": 1, "z": 3}}}}
    one, two = read_grid(write_grid(tmp_path / "g.yaml", base={"m": {"x": 5, "y": 6}}, axes=axes)).cells
    assert one.config["m"] == {"x": 1, "y": 2, "z": 3}
    assert two.config["m"] == {"x": 1, "y": 6, "z": 3}


def test_broken_yaml_is_refused(tmp_path):
    (tmp_path / "g.yaml").write_text("base: [")
    with pytest.raises(ValueError, match=r"g\.yaml"):
        read_grid(tmp_path / "g.yaml")


def test_unknown_grid_lists_the_shipped_ones():
    with pytest.raises(ValueError, match="quickstart"):
        find_grid("nothing")


def test_two_cells_that_are_the_same_run_are_refused(tmp_path):
    text = write_text(tmp_path / "text.txt")
    levels = {"a": {"model.init_args.documents": "separate"}, "b": {"model.init_args.reduction": "mean"}}
    grid = read_grid(write_grid(tmp_path / "g.yaml", base=grid_base(text), axes={"arm": levels}))
    with pytest.raises(ValueError, match="a-s1 and b-s1"):
        plan(grid, tmp_path / "g")


def test_generated_data_is_checked_before_anything_runs(tmp_path):
    base = {**grid_base(tmp_path / "unused.txt"), "data": RULES}
    axes = {"data.init_args.probe_train": [10, 10**12]}
    with pytest.raises(ValueError, match=r"cell 1000000000000-s1: .*probe_train=1000000000000"):
        plan(read_grid(write_grid(tmp_path / "g.yaml", base=base, axes=axes)), tmp_path / "g")


BAD_CLOZE = {"class_path": "experiments.evaluation.Cloze", "init_args": {"rates": [2.0]}}


@pytest.mark.parametrize(
    ("axis", "values", "words"),
    [
        ("model.init_args.corruption.rate", [0.15, 1.5], r"cell 1.5-s1: .*\(0, 1\]"),
        ("data.init_args.tokenizer.size", [300, 3], "cell 3-s1: .*5"),
        ("data.init_args.block_length", [16, 128], "cell 128-s1: .*128"),
        ("evaluation.metrics", [["experiments.evaluation.Cloze"], [BAD_CLOZE]], r"cell class_path.*-s1: .*\(0, 1\]"),
        ("trainer.devices", [1, 2], "cell 2-s1: .*devices"),
        ("data.init_args.batch_size", [4, 10**9], "cell 1000000000-s1: .*batch_size=1000000000"),
        ("data.init_args.validation_blocks", [4, 0], "cell 0-s1: .*validation_blocks=0"),
    ],
)
def test_a_bad_cell_is_found_before_anything_runs(axis, values, words, tmp_path):
    text = write_text(tmp_path / "text.txt")
    grid = read_grid(write_grid(tmp_path / "g.yaml", base=grid_base(text), axes={axis: values}))
    with pytest.raises(ValueError, match=words):
        plan(grid, tmp_path / "g")
    assert not (tmp_path / "g").exists()


@pytest.mark.parametrize("path", sorted(ROOT.glob("grids/*.yaml")), ids=lambda path: path.stem)
def test_shipped_grids(path, tmp_path):
    assert find_grid(path.stem) == path
    grid = read_grid(path)
    runs = [run for run, _ in plan(grid, tmp_path)]
    assert len({run["hash"] for run in runs}) == len(grid.cells)
    assert len({run["seed"] for run in runs}) >= 2
    assert "two cores" in grid.source.splitlines()[0] + grid.source.splitlines()[1], "say how long it takes"


@pytest.mark.parametrize("path", sorted(ROOT.glob("configs/*.yaml")), ids=lambda path: path.stem)
def test_shipped_configs(path):
    assert configs.path_of(path.stem) == configs.path_of(path.name) == path
    cli = PlannedCLI(["fit", "--config", str(path)])
    assert cli.run.name == path.stem


def test_a_reference_that_could_mean_two_things_is_refused(tmp_path):
    axes = {"arm": {"small": {"a": 1}, "other": {"a": 2}}, "width": {"small": {"b": 1}, "big": {"b": 2}}}
    with pytest.raises(ValueError, match=r"small is a level of arm and width; name a whole arm, such as small; small"):
        read_grid(write_grid(tmp_path / "g.yaml", axes=axes, reference="small"))
    assert read_grid(write_grid(tmp_path / "g.yaml", axes=axes, reference="small; big")).cells


@pytest.mark.parametrize("levels", [{"": {"a": 1}}, {"a\nb": {"a": 1}}, [""]])
def test_a_level_without_a_name_is_refused(tmp_path, levels):
    with pytest.raises(ValueError, match="a level of axis arm has no name"):
        read_grid(write_grid(tmp_path / "g.yaml", axes={"arm": levels}))


def write_text_grid(path, text):
    path.write_text(f"base: {{}}\nseeds: [1]\n{text}")
    return path


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "axes:\n  arm:\n    MLM 15%: {a: 1}\n    MLM 15%: {a: 2}\n",
            "line 6: the key 'MLM 15%' stands twice .* line 5",
        ),
        ("axes: {arm: {a: {x: 1}}}\naxes: {other: {b: {x: 2}}}\n", "line 4: the key 'axes' stands twice"),
        ("title: [a]\n", "title must be text on one line"),
        ("imports: [{a: b}]\n", "imports must be text on one line"),
        ('title: "a\\nb"\n', "title must be text on one line"),
    ],
)
def test_a_grid_that_could_be_read_in_two_ways_is_refused(text, words, tmp_path):
    with pytest.raises(ValueError, match=rf"g\.yaml.*{words}"):
        read_grid(write_text_grid(tmp_path / "g.yaml", text))


def test_names_stay_what_they_are_written_as(tmp_path):
    text = """
title: 2024-01-01
reference: on; 0.10
axes:
  arm: {on: {a: 1}, off: {a: 2}, 2024-01-01: {a: 3}, null: {a: 4}, 1e3: {a: 5}}
  rate: [0.10, 1e-3, 2024-01-01, yes, null]
"""
    grid = read_grid(write_text_grid(tmp_path / "g.yaml", text))
    assert grid.title == "2024-01-01"
    assert list(dict.fromkeys(cell.factors["arm"] for cell in grid.cells)) == ["on", "off", "2024-01-01", "null", "1e3"]
    rates = {cell.factors["rate"]: cell.config["rate"] for cell in grid.cells}
    assert rates == {"0.10": 0.1, "1e-3": 0.001, "2024-01-01": "2024-01-01", "yes": True, "null": None}
    assert json.dumps([cell.config for cell in grid.cells])


@pytest.mark.parametrize("seed", [-1, 2**32])
def test_a_seed_that_no_generator_takes_is_refused(seed, tmp_path):
    base = grid_base(write_text(tmp_path / "text.txt"))
    grid = read_grid(write_grid(tmp_path / "g.yaml", base=base, seeds=[0, 2**32 - 1, seed]))
    words = rf"cell run-s{seed}: seed_everything goes from 0 to 4,294,967,295, but is {seed}"
    with pytest.raises(ValueError, match=words):
        plan(grid, tmp_path / "g")


@pytest.mark.parametrize("name", ["...yaml", "..yaml", "a\nb.yaml", "x" * 151 + ".yaml"])
def test_a_grid_whose_name_is_no_directory_is_refused(name, tmp_path):
    with pytest.raises(ValueError, match="cannot be its name; rename"):
        read_grid(write_grid(tmp_path / name))


def test_more_runs_than_anybody_waits_for_are_refused(tmp_path):
    axes = {name: list(range(1000)) for name in "abcdefgh"}
    with pytest.raises(ValueError, match=r"has 1,000,000,000,000,000,000,000,000 runs"):
        read_grid(write_grid(tmp_path / "g.yaml", axes=axes))


def test_a_grid_imports_nothing_that_is_not_allowed(tmp_path, monkeypatch, capsys):
    """Neither what it lists nor what its cells name, and not in a dry run either."""
    package = f"package_of_{tmp_path.name}"
    (tmp_path / f"{package}.py").write_text(
        f"import pathlib\npathlib.Path({str(tmp_path / 'imported')!r}).touch()\n"
        "from objectives import CLM\n\nclass Mine(CLM):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    base = grid_base(write_text(tmp_path / "text.txt"), **{"model.class_path": f"{package}.Mine"})
    sweep = ["sweep", str(tmp_path / "g.yaml"), "--results", str(tmp_path / "results"), "--dry-run"]
    for listed in ([package], []):
        write_grid(tmp_path / "g.yaml", base=base, imports=listed)
        assert main(sweep) == 2
        (error,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert error.endswith(f"if you trust {'it' if listed else 'that'}, add --allow-import {package}")
        assert not (tmp_path / "imported").exists()
    write_grid(tmp_path / "g.yaml", base=base, imports=[package])
    assert main([*sweep, "--allow-import", package]) == 0
    assert (tmp_path / "imported").exists()
    assert not (tmp_path / "results").exists()
