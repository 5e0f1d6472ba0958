"""YAML that could be read in two ways, or not in this life, is refused with its line; keys and dates are text."""

import math
import time

import pytest

from experiments.strict_yaml import MOST_CHARACTERS, dump_yaml, leaves, parse_setting, parse_yaml, read_yaml

BOMB = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [{','.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 30))
CHAIN = "a0: &a0 [x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}]\n" for i in range(1, 100))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1\nb: 2\na: 3", "line 3: the key 'a' stands twice in one mapping, first in line 1"),
        ("x:\n  - {a: 1, a: 1}", "line 2: the key 'a' stands twice"),
        ("'a': 1\na: 2", "line 2: the key 'a' stands twice"),
        ("1: x\n'1': y", "line 2: the key '1' stands twice"),
        ("x: &x {a: 1}\ny:\n  <<: *x\n  <<: *x", "line 4: the key '<<' stands twice"),
        ("x: &x {a: 1}\ny: {<<: *x, b: 1, b: 2}", "line 2: the key 'b' stands twice"),
        ("[" * 100_000, "line 1"),
        ("- " * 100_000, "line 1: it is nested more than 50 deep"),
        ("\n".join(" " * depth + "a:" for depth in range(60)), "line 51: it is nested more than 50 deep"),
        (BOMB, "line 6: it has more than 100,000 values, aliases written out"),
        (CHAIN, "line 50: it is nested more than 50 deep"),
        ("a: &a [*a]", r"line 1: \*a stands inside of what it refers to"),
        ("a: *b", "line 1: found undefined alias"),
        ("x" * (MOST_CHARACTERS + 1), "more than 1,000,000 characters"),
        ("[" + "1," * 300_000 + "]", "more than 100,000 values"),
        ("a: !!python/object/apply:os.system [ls]", "line 1: a value is marked !!python/object/apply:os.system"),
        ("a: !!binary aGk=", "line 1: a value is marked !!binary"),
        ("? [a, b]\n: 1", "line 1: a key is itself a list or a mapping"),
        ("a: {<<: 3}", "line 1: << takes a mapping"),
        ("a: !!map 3", "line 1: "),
        ("a: [1", "line [12]: .*did not find expected"),
        ("a: 1\n---\nb: 2", "line 2: expected a single document"),
        ("a: " + "9" * 5000, "digits"),
        ("a: \x01", "control characters"),
        ("m:\n  b: {c: 1}\n  b.c: 2", "line 2: b.c is set twice in one mapping, by a dotted key and by another"),
        ("a.b: {c: 1}\na: {b.c: 1}", "line 1: a.b.c is set twice"),
        ("a.b: 1\na: {b: {c: 2}}", "line 1: a.b is set twice"),
        ("x: &x {a: {b: 1}}\ny: {<<: *x, a.b: 2}", "line 2: a.b is set twice"),
    ],
)
def test_what_is_refused_is_refused_at_once_with_its_line(text, words):
    started = time.monotonic()
    with pytest.raises(ValueError, match=rf"^grid\.yaml is not valid YAML: .*{words}") as refusal:
        parse_yaml(text, "grid.yaml")
    assert "\n" not in str(refusal.value) and len(str(refusal.value)) < 300
    assert time.monotonic() - started < 30  # it used to hang


def test_keys_are_what_is_written():
    read = parse_yaml("on: 1\noff: 2\n~: 3\nnull: 4\n2024-01-01: 5\n1: 6\n1.50: 7\n0x10: 8\nyes: 9")
    assert read == dict(
        zip(["on", "off", "~", "null", "2024-01-01", "1", "1.50", "0x10", "yes"], range(1, 10), strict=True)
    )


def test_merged_keys_may_be_overridden():
    read = parse_yaml("x: &x {a: 1, b: 2}\ny: &y {<<: *x, a: 3}\nz: {b: 5, <<: [*y]}")
    assert read == {"x": {"a": 1, "b": 2}, "y": {"a": 3, "b": 2}, "z": {"a": 3, "b": 5}}
    assert parse_yaml("x: &x {a: 1}\ny: &y {a: 2, b: 2}\nz: {<<: [*x, *y]}")["z"] == {"a": 1, "b": 2}
    assert parse_yaml("x: &x [1]\ny: [*x, *x]") == {"x": [1], "y": [[1], [1]]}


def test_dotted_and_nested_keys_may_stand_together():
    text = "a: {b: {c: 1}}\na.b.d: 2\na.e: {}\na.e.f: 3"
    assert list(leaves(parse_yaml(text))) == [("a.b.c", 1), ("a.b.d", 2), ("a.e.f", 3)]


def test_numbers_are_numbers_and_the_rest_is_text():
    assert parse_yaml("[1, -2, 1_000, 0x10, 1.5, 1e-3, -1.e3, .5, .inf]") == [
        1,
        -2,
        1000,
        16,
        1.5,
        1e-3,
        -1e3,
        0.5,
        math.inf,
    ]
    assert parse_yaml("[true, off, null, ~]") == [True, False, None, None]
    assert parse_yaml("[2024-01-01, 12:30, 1:30:00, 010, =, <<, 1.2.3]") == [
        "2024-01-01",
        "12:30",
        "1:30:00",
        "010",
        "=",
        "<<",
        "1.2.3",
    ]
    written = parse_yaml("{a: [2024-01-01, 0.10, 1e-3, on, ~], b: {c: 1_000}}", as_written=True)
    assert written == {"a": ["2024-01-01", "0.10", "1e-3", "on", "~"], "b": {"c": "1_000"}}


def test_a_file_is_named(tmp_path):
    (tmp_path / "latin.yaml").write_bytes(b"a: caf\xe9")
    with pytest.raises(ValueError, match=r"latin\.yaml is not valid YAML: it is not UTF-8"):
        read_yaml(tmp_path / "latin.yaml")
    (tmp_path / "empty.yaml").write_text("# nothing")
    assert read_yaml(tmp_path / "empty.yaml") is None


@pytest.mark.parametrize(
    ("text", "value"),
    [("a:", "a:"), ("{a, b}", "{a, b}"), ("{a: 1}", {"a": 1}), ("[a, b]", ["a", "b"]), ("{a: null}", {"a": None})],
)
def test_the_value_of_an_option(text, value):
    assert parse_setting(text) == value


@pytest.mark.parametrize(
    "value", ["1e3", "-1e-3", "1.5e3", "on", "null", "2024-01-01", "12:30", "010", "0x1f", ".5", "1_000", "a: b", "~"]
)
def test_a_text_that_is_written_is_read_as_text_again(value):
    plain = {"text": value, "number": 1e-3, "small": 1e-20, "whole": 3, "flag": True, "nothing": None, "list": [value]}
    assert parse_yaml(dump_yaml(plain)) == plain
