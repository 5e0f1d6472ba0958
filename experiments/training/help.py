"""Help of a run's command: the options of the chosen classes, with the defaults of the chosen configuration.

`--KEY.help` shows the part that begins with KEY; only `--trainer.help` shows the many options of Lightning's Trainer.
"""

from __future__ import annotations

import argparse
import copy
import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from jsonargparse import ActionConfigFile, ArgumentParser, DefaultHelpFormatter, Namespace

COMMAND = "clm-vs-mlm fit"
INTRODUCTION = """Train one run in a directory of its own, RESULTS/runs/NAME-HASH. The same command resumes the run,
and does nothing when it is done. A configuration is a YAML file, or the name of a shipped one: clm or mlm
(the one whose classes and defaults are shown here when none is given). Options override it."""
EXAMPLES = """examples:
  clm-vs-mlm fit --config mlm
  clm-vs-mlm fit --config mlm --model.init_args.corruption.rate 0.4 --name mlm-40
  clm-vs-mlm fit --config clm --data.init_args.corpus experiments.corpora.LocalText \\
      --data.init_args.corpus.init_args.path "texts/*.txt"

more help:
  clm-vs-mlm fit --config FILE --help                with the classes and the defaults of that configuration
  clm-vs-mlm fit --data.init_args.corpus.help CLASS  options of a class; likewise --model.help, --data.help
  clm-vs-mlm fit --trainer.help                      options of Lightning's Trainer: devices, precision, loggers
"""
FIT: dict[str, Any] = {"description": INTRODUCTION, "epilog": EXAMPLES}
LATE = {"model": "objective", "data": "data", "trainer": "Lightning's Trainer"}
"""Groups of options that come last, and their titles."""
REQUEST = re.compile(r"-h|--help|--((?:model|data|evaluation)[\w.]*|trainer)\.help")
"""What asks for help here; help on classes inside the Trainer is left to jsonargparse."""


def help_last(arguments: Sequence[str], configuration: str) -> list[str]:
    """The arguments with a request for help put last, as `--help` or `--help KEY`: there it sees all that is chosen.

    `--KEY.help CLASS` chooses the class as well. Where no configuration is given, it is `configuration`.
    """
    command, *words = arguments
    requests = ((place, REQUEST.fullmatch(word.partition("=")[0])) for place, word in enumerate(words))
    place, request = next(((place, match) for place, match in requests if match), (0, None))
    if request is None:
        return list(arguments)
    _, _, value = words.pop(place).partition("=")
    if not value and place < len(words) and not words[place].startswith("-"):
        value = words.pop(place)
    if not any(re.match("(-c|--config)(=|$)", word) for word in words):
        words = ["--config", configuration, *words]
    if request[1] is None:
        return [command, *words, "--help", *filter(None, [value])]
    return [command, *words, *([f"--{request[1]}", value] if value else []), "--help", request[1]]


class RunParser(ArgumentParser):
    """Parser of a run's options, and of those of the classes in it; `refused` names those that help leaves out."""

    def __init__(
        self, *args: Any, prog: str = COMMAND, add_help: bool = True, refused: Collection[str] = (), **kwargs: Any
    ) -> None:
        super().__init__(*args, prog=prog, add_help=False, **kwargs)
        self.refused = refused
        if add_help:
            self.add_argument("-h", "--help", action=ShowHelp)


class ShowHelp(argparse._HelpAction):
    """Prints the help for what has been parsed before it, or the part of it that begins with its value, and exits."""

    def __init__(self, option_strings: Sequence[str], dest: str) -> None:
        super().__init__(option_strings, help="Show this help, or its part on KEY, and exit.")
        self.nargs, self.metavar = "?", "KEY"

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: str | None = None) -> None:
        usage = f"{COMMAND} [--config CONFIG] [--OPTION VALUE ...]"
        shown = RunParser(usage=usage, description=None, add_help=False, formatter_class=_Formatter)
        for title, actions in _all_options(parser, namespace):
            kept = (action for action in actions if _belongs(action, values, parser.refused))
            group = shown.add_argument_group(title)
            group._group_actions = [_with_default(action, namespace.get(action.dest)) for action in kept]
        if not any(group._group_actions for group in shown._action_groups):
            raise argparse.ArgumentError(self, f"there is no option {values}")
        if values is None:
            shown.description, shown.epilog = parser.description, parser.epilog
        shown.print_help()
        parser.exit()


class Options(NamedTuple):
    """A group of options under a title."""

    title: str
    actions: list[argparse.Action]


class _Formatter(DefaultHelpFormatter, argparse.RawDescriptionHelpFormatter):
    """jsonargparse's, with the line breaks of the description and the examples left as they are."""


def _all_options(parser: Any, chosen: Namespace) -> list[Options]:
    """The options of a parser, the Trainer's last, those of model and data followed by those of the chosen classes."""
    late = {parser.groups[name]: title for name, title in LATE.items() if name in parser.groups}
    early = [group for group in parser._action_groups if group not in (*late, parser._links_group)]
    groups = [Options(late.get(group, group.title), group._group_actions) for group in (*early, *late)]
    return [shown for group in groups for shown in (group, *_of_classes([group], chosen))]


def _of_classes(groups: list[Options], chosen: Namespace) -> Iterator[Options]:
    """The options of the classes that are chosen in some groups, and of the classes that are chosen in those."""
    for argument in (action for group in groups for action in group.actions):
        choice = chosen.get(argument.dest)
        if _names_class(choice):
            inside = _of_class(argument, choice.class_path)
            yield from inside
            yield from _of_classes(inside, chosen)


def _of_class(argument: Any, class_path: str) -> list[Options]:
    """The options of the class that is the value of an argument, from the parser that parses them."""
    parser = argument.get_class_parser(class_path, argument.sub_add_kwargs)
    own = next(iter(parser.groups.values()), None)
    left_out = argument.sub_add_kwargs.get("linked_targets", ())
    groups = []
    for group in parser._action_groups:
        actions = [
            _renamed(action, f"{argument.dest}.init_args.")
            for action in group._group_actions
            if action.dest not in left_out and not isinstance(action, ShowHelp)
        ]
        title = group.title or ""
        groups.append(Options(f"{class_path}: {title}" if group is own else title, actions))
    return groups


def _renamed(action: argparse.Action, prefix: str) -> argparse.Action:
    action = copy.copy(action)
    action.option_strings = [f"--{prefix}{option[2:]}" for option in action.option_strings]
    action.dest = f"{prefix}{action.dest}"
    return action


def _belongs(action: argparse.Action, key: str | None, refused: Collection[str]) -> bool:
    """Whether an option is shown under a key; the Trainer's only under its own key, files of parts of a run never."""
    if action.metavar == "CONFIG" or action.dest.removeprefix("trainer.") in refused:
        return False
    if key is None:
        return not action.dest.startswith("trainer")
    return f"{action.dest}.".replace(".init_args.", ".").startswith(f"{key}.".replace(".init_args.", "."))


def _with_default(action: argparse.Action, value: Any) -> argparse.Action:
    """A copy of an option, with what was chosen as its default; of a class, its name."""
    action = copy.copy(action)
    if value is not None and not isinstance(action, ActionConfigFile):
        action.default = value.class_path if _names_class(value) else value
        action.required = False
    return action


def _names_class(value: Any) -> bool:
    return isinstance(value, Namespace) and "class_path" in value
