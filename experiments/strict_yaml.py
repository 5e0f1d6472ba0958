"""YAML that says one thing: keys are read as they are written, and none may stand twice in one mapping, nor any setting
both under a dotted key and nested.

PyYAML keeps the last of two equal keys without a word, reads the keys on, 2024-01-01 and ~ as True, a date and None,
and expands a page of aliases to more than a memory holds. Here all of that is refused with its line, or is text.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

MOST_CHARACTERS = 1_000_000
MOST_VALUES = 100_000
"""Values of a whole file, an alias counting as all that it stands for."""
DEEPEST = 50
MERGE = "tag:yaml.org,2002:merge"
TEXT = "tag:yaml.org,2002:str"
TAGS = {
    yaml.MappingNode: {"tag:yaml.org,2002:map"},
    yaml.SequenceNode: {"tag:yaml.org,2002:seq"},
    yaml.ScalarNode: {f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null")},
}
INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9_]*|0x[0-9a-fA-F_]+|0b[01_]+)$")
FLOAT = re.compile(
    r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?|[0-9][0-9_]*[eE][-+]?[0-9]+|\.[0-9][0-9_]*(?:[eE][-+]?[0-9]+)?"
    r"|\.(?:inf|Inf|INF))$|\.(?:nan|NaN|NAN)$"
)


class NotAccepted(yaml.YAMLError, ValueError):
    """The text is no YAML, or one that could be read in two ways; the message says where, in one line."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe one, to which neither dates nor 12:30 nor 010 are numbers, but 1e-3 is."""


_KEPT = ("bool", "null", "merge")
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag.rpartition(":")[2] in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.add_implicit_resolver("tag:yaml.org,2002:int", INTEGER, list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", FLOAT, list("-+0123456789."))


class _Dumper(yaml.SafeDumper):
    """Quotes what `_Loader` would take for something else than text."""


_Dumper.yaml_implicit_resolvers = _Loader.yaml_implicit_resolvers


def dump_yaml(value: Any) -> str:
    """A text of which `parse_yaml` gives the plain value again."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True)


def read_yaml(path: Path, as_written: bool = False) -> Any:
    """The content of a YAML file; raises as `parse_yaml` does."""
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read(MOST_CHARACTERS + 1)
    except UnicodeDecodeError as error:
        raise NotAccepted(f"{path} is not valid YAML: it is not UTF-8 ({error.reason})") from error
    return parse_yaml(text, str(path), as_written)


def parse_yaml(text: str, where: str = "", as_written: bool = False) -> Any:
    """The content of a YAML text: mappings whose keys are strings, lists and plain values.

    Args:
        where: what the text is called in messages.
        as_written: give every plain value as the text that stands there.

    Raises:
        NotAccepted: a ValueError, when it is no YAML, a key or a setting stands twice in one mapping, or it is too
            large, too deep or refers to itself.
    """
    try:
        _check_size(text)
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            return None if node is None else _value(loader, node, as_written)
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError) as error:  # ValueError: such as a number of 10,000 digits
        raise NotAccepted(f"{where or 'the value'} is not valid YAML: {_in_one_line(error)}") from error


def parse_setting(text: str, path: str = "") -> Any:
    """As jsonargparse has its loaders: what looks like a mapping of keys alone, such as {a, b} or a:, is text."""
    value = parse_yaml(text, str(path))
    if isinstance(value, dict) and value and all(one is None for one in value.values()):
        alone = {key.strip() for key in text.strip(" {}\n").removesuffix(":").split(",")}
        return text if alone == set(value) else value
    return value


def _check_size(text: str) -> None:
    """Refuse what is too large or too deep once its aliases are expanded, while nothing is built yet."""
    if len(text) > MOST_CHARACTERS:
        raise yaml.YAMLError(f"it has more than {MOST_CHARACTERS:,} characters")
    sizes: dict[str, tuple[int, int]] = {}
    open_: list[tuple[str | None, int, int]] = [(None, 0, 0)]
    """Of the collections that are open, the whole text first: anchor, values and depth so far."""
    for event in yaml.parse(text, Loader=_Loader):
        size, depth = 1, 0
        if isinstance(event, yaml.CollectionStartEvent):
            open_.append((event.anchor, 1, 0))
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, size, depth = open_.pop()
            depth += 1
            if anchor is not None:
                sizes[anchor] = (size, depth)
        elif isinstance(event, yaml.AliasEvent):
            if any(anchor == event.anchor for anchor, _, _ in open_):
                raise _at(event, f"*{event.anchor} stands inside of what it refers to")
            size, depth = sizes.get(str(event.anchor), (1, 0))
        elif isinstance(event, yaml.ScalarEvent):
            if event.anchor is not None:
                sizes[event.anchor] = (1, 0)
        else:
            continue
        if not isinstance(event, yaml.CollectionStartEvent):
            anchor, before, deepest = open_.pop()
            open_.append((anchor, before + size, max(deepest, depth)))
        if open_[-1][1] > MOST_VALUES:
            raise _at(event, f"it has more than {MOST_VALUES:,} values, aliases written out")
        if len(open_) - 1 + depth > DEEPEST:
            raise _at(event, f"it is nested more than {DEEPEST} deep")


def _value(loader: Any, node: yaml.Node, as_written: bool) -> Any:
    """What a node stands for. PyYAML's own way of merging loses what a merged mapping has overridden itself."""
    if isinstance(node, yaml.ScalarNode) and (as_written or node.tag in (TEXT, MERGE)):
        return node.value
    if node.tag not in TAGS[type(node)]:
        raise _at(node, f"a value is marked {node.tag.replace('tag:yaml.org,2002:', '!!')}; give it plainly")
    if isinstance(node, yaml.SequenceNode):
        return [_value(loader, one, as_written) for one in node.value]
    return _mapping(loader, node, as_written) if isinstance(node, yaml.MappingNode) else loader.construct_object(node)


def _mapping(loader: Any, node: yaml.MappingNode, as_written: bool) -> dict[str, Any]:
    lines: dict[str, int] = {}
    merged: dict[str, Any] = {}
    own: dict[str, Any] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _at(key, "a key is itself a list or a mapping; give it a name")
        if key.value in lines:
            raise _at(key, f"the key {key.value!r} stands twice in one mapping, first in line {lines[key.value]}")
        lines[key.value] = key.start_mark.line + 1
        if key.tag == MERGE:
            parts = value.value if isinstance(value, yaml.SequenceNode) else [value]
            if not all(isinstance(part, yaml.MappingNode) for part in parts):
                raise _at(value, "<< takes a mapping, or a list of mappings")
            for part in reversed(parts):  # the first of them counts
                merged |= _mapping(loader, part, as_written)
        else:
            own[key.value] = _value(loader, value, as_written)
    whole = merged | own
    if any(map(_is_dotted, own)) and (setting := _set_twice(whole)):
        raise _at(node, f"{setting} is set twice in one mapping, by a dotted key and by another; set it once")
    return whole


def _is_dotted(key: str) -> bool:
    """Whether a key leads to a setting, as a.b does; 1.5 is a name."""
    return "." in key and all(part.isidentifier() for part in key.split("."))


def _set_twice(mapping: dict[str, Any]) -> str:
    """A setting that a mapping's nested and dotted keys set more than once; empty where there is none."""
    seen: set[str] = set()
    for path, _ in leaves(mapping):
        if path in seen:
            return path
        seen.add(path)
    return next((above for path in seen if (above := _leaf_above(path, seen))), "")


def leaves(mapping: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    """Each value of nested or dotted settings that is no mapping, and its dotted path."""
    for key, value in mapping.items():
        if isinstance(value, Mapping):
            yield from leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}", value


def _leaf_above(path: str, among: Container[str]) -> str:
    """The leaf that a path goes through; empty where there is none."""
    parts = path.split(".")
    return next((part for n in range(1, len(parts)) if (part := ".".join(parts[:n])) in among), "")


def _at(place: Any, reason: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=reason, problem_mark=place.start_mark)


def _in_one_line(error: Exception) -> str:
    return " ".join(_parts(error))


def _parts(error: Exception) -> Iterator[str]:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    if mark is None:
        yield from str(error).split()
        return
    yield f"line {mark.line + 1}:"
    for part in (getattr(error, "context", None), getattr(error, "problem", None)):
        if part:
            yield part.strip()
