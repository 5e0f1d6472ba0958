"""The command `clm-vs-mlm`. Only what a command needs is imported, so that help comes at once."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any

COMMANDS = {
    "fit": "train one run; a LightningCLI: --config FILE, every field overridable",
    "evaluate": "measure what is missing at the snapshots of a run or of a grid's runs",
    "sweep": "train every missing run of a grid, then write its report",
    "runs": "show the state of each run of a grid",
    "report": "write report.md, report.html, figures and tables of a grid, finished or not",
    "score": "log-probability, or pseudo-log-likelihood, of each line of a file",
    "pairs": "accuracy on minimal pairs, such as BLiMP's, of one model or several",
    "fill": "what belongs in the blanks of a text",
    "generate": "write text with a trained model",
    "export": "write a trained model as a Hugging Face folder",
}
PRINTING = ("evaluate", "runs", "score", "pairs", "fill", "generate")
"""Their output may be cut off by whoever reads it, as `head` does."""
IMPORTING = ("evaluate", "sweep", "score", "pairs", "fill", "generate", "export")
"""They open what may name a class of any package; `fit` takes the same option."""
EXAMPLES = """examples:
  clm-vs-mlm sweep quickstart              compare CLM and MLM; ends with a report to open
  clm-vs-mlm fit --config mlm --model.init_args.corruption.rate 0.3
  clm-vs-mlm report results/quickstart
  clm-vs-mlm score RUN sentences.txt
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; gives the exit code.

    0 done, 1 failed, 2 bad input, 3 left to another process, 130 interrupted, 141 output cut off.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    if arguments and arguments[0] in PRINTING and isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # a text may hold what the terminal's encoding does not
    try:
        code = _dispatch(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except (ValueError, TypeError, OSError, MemoryError) as error:
        if isinstance(error, BrokenPipeError) and arguments[0] in PRINTING:  # whoever read it has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 141
        print(f"error: {' '.join(str(error).split())}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130


def _dispatch(arguments: list[str]) -> int:
    if arguments[:1] == ["fit"]:
        from experiments.training.commands import main as fit

        return fit(arguments)
    if arguments[:1] == ["report"]:
        from analysis.report import main as report

        return report(arguments[1:])
    name = arguments[0] if arguments and arguments[0] in COMMANDS else ""
    command = _command(name)
    options = _parser([name] if name else COMMANDS, command).parse_args(arguments)
    if name != "sweep":
        return command.main(options)
    code, directory = command.main(options)
    if directory is not None:
        from analysis.report import write_report

        print(write_report(directory))
    return code


def _command(name: str) -> Any:
    """What adds the arguments of a command and runs it; None for another word."""
    if name == "sweep":
        from experiments.sweeps import sweep

        return sweep
    if name == "evaluate":
        from experiments.sweeps import evaluate

        return evaluate
    if name == "runs":
        from experiments.sweeps import status

        return status
    if name:
        from experiments.inference.commands import COMMANDS as inference

        return inference[name]
    return None


def _parser(names: Iterable[str], command: Any) -> argparse.ArgumentParser:
    """That of some commands; one alone has its arguments."""
    parser = argparse.ArgumentParser(
        "clm-vs-mlm",
        description="Compare causal and masked language modelling: one encoder, one stream of text, one budget.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    subparsers = parser.add_subparsers(dest="command", metavar="command", required=True)
    for name in names:
        summary = COMMANDS[name]
        subparser = subparsers.add_parser(name, help=summary, description=summary[0].upper() + summary[1:] + ".")
        if command is not None:
            command.add_arguments(subparser)
            if name in IMPORTING:
                subparser.add_argument(
                    "--allow-import",
                    metavar="PACKAGE",
                    action="append",
                    default=[],
                    help="a package of yours whose classes the run, the grid or the model may name; repeatable",
                )
    return parser


if __name__ == "__main__":
    sys.exit(main())
