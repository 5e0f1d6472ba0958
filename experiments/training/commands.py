"""`clm-vs-mlm fit`: a run is a directory, and an idempotent command.

What imports Lightning is imported where it is needed: it takes seconds, and neither help nor most plans need it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentError

from experiments import configs
from experiments.training.help import help_last
from experiments.training.options import parser_without_trainer, run_without_trainer
from experiments.training.run_spec import RunSpec
from objectives.construction.class_paths import how_to_allow

ALLOW = "--allow-import"
USAGE = f"""{ALLOW} PACKAGE (may be repeated) lets class paths of the configuration name a package of yours."""


def main(arguments: Sequence[str]) -> int:
    """Exit code 0 when done, 1 when it has diverged, 130 when interrupted. Raises ValueError on bad input."""
    arguments, imports = _take_imports(arguments)
    arguments = by_bare_name(help_last(arguments, str(configs.path_of("mlm"))))
    if "--help" in arguments and not any(word.startswith("--trainer") for word in arguments):
        with suppress(Exception):  # what is refused, or is of the Trainer, the whole parser knows
            parser_without_trainer(imports).parse_args(arguments[1:])
    return _fit(arguments, imports)


def _fit(arguments: Sequence[str], imports: Sequence[str]) -> int:
    from pytorch_lightning.utilities.exceptions import MisconfigurationException

    from experiments.training.command_line import ObjectiveCLI, quiet_lightning
    from experiments.training.loop import Interrupted, TrainingDiverged, TrainingFailed
    from experiments.training.measure import measure_run

    quiet_lightning()
    try:
        cli = ObjectiveCLI(arguments, imports)
        # Of several ranks, each sum would wait for the others, which have left: `evaluate` measures then.
        alone = cli.was_done or cli.trainer.world_size == 1
        measured = measure_run(cli.run.directory, cli) if alone else 0
    except (ArgumentError, ValueError, TypeError) as error:
        raise ValueError(plain_reason(str(error))) from error
    except TrainingDiverged as diverged:
        print(diverged, file=sys.stderr)
        return 1
    except (RuntimeError, MisconfigurationException, TrainingFailed) as error:
        cause = error.__cause__ if isinstance(error, TrainingFailed) else error
        if isinstance(cause, MisconfigurationException):
            raise ValueError(plain_reason(f"Lightning refuses these settings: {cause}")) from error
        if isinstance(cause, RuntimeError) and re.search("allocate (memory|[0-9])", str(cause)):
            raise ValueError(f"out of memory: make the model or data.init_args.batch_size smaller ({cause})") from error
        raise  # something is wrong with the code of an objective, say: its traceback is what helps
    except Interrupted as interrupted:
        print(f"interrupted: {interrupted}", file=sys.stderr)
        return 130
    if cli.was_done and not measured:
        print(f"{cli.run.directory} is done; nothing to do", file=sys.stderr)
    elif cli.was_done or cli.trainer.is_global_zero:
        print(cli.run.directory)
    return 0


def planned(arguments: Sequence[str], imports: Sequence[str] = ()) -> RunSpec:
    """What the run of a command line is, once that is checked. Raises ValueError, in one line, when it is refused."""
    with suppress(Exception):  # what is refused, or sets the Trainer, the whole parser knows
        return run_without_trainer(arguments[1:], imports)
    return opened(arguments, imports).run


def opened(arguments: Sequence[str], imports: Sequence[str] = ()) -> Any:
    """The PlannedCLI of a command line, which can build what is in it; raises as `planned` does."""
    from experiments.training.command_line import PlannedCLI

    try:
        return PlannedCLI(arguments, imports)
    except Exception as error:
        raise ValueError(plain_reason(str(error))) from error


def plain_reason(message: str) -> str:
    """The cause in a parser's message, without the list of types it tried and the values it was given."""
    message = re.split(r"Given value( type)?:", message)[0]
    message = re.sub(r"\s*- Expected a <class '(NoneType|bool|collections.abc.Iterable)'>", "", message)
    message = re.sub(r"- Expected a path but \S+ either not accessible or invalid\s+(?=- )", "", message)
    message = re.sub(
        r"Does not validate against any of the Union subtypes\s*Subtypes:.*?Errors:\s*-\s*",
        "",
        message,
        flags=re.S,
    )
    message = re.sub(
        r"Importing '([\w.]+)' is not allowed, denied by .*? to allow it\.?",
        lambda found: f"{found[1]} is not imported: {how_to_allow(found[1])}",
        message,
    )
    message = re.sub(r"No module named '([\w.]+)'", r"\g<0>: install it, or put its folder on PYTHONPATH", message)
    return " ".join(message.split())


def _take_imports(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    rest, imports = list(arguments), []
    while ALLOW in rest:
        place = rest.index(ALLOW)
        if place + 1 == len(rest):
            raise ValueError(USAGE)
        imports.append(rest[place + 1])
        del rest[place : place + 2]
    return rest, imports


def by_bare_name(arguments: list[str]) -> list[str]:
    """Replace `--config clm` by the path of the shipped configuration of that name, unless there is such a file."""
    for place, argument in enumerate(arguments):
        flag, equals, value = argument.partition("=")
        if flag in ("--config", "-c") and equals:
            arguments[place : place + 1] = [flag, value]
    for place in range(len(arguments) - 1):
        name = arguments[place + 1]
        if arguments[place] in ("--config", "-c") and re.fullmatch(r"[\w-]+", name) and not Path(name).exists():
            arguments[place + 1] = str(configs.path_of(name) or name)
    return arguments
