"""The commands and programs that a README shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path


class Readme:
    """The code blocks of a README: those without a language are shell commands, one a line."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        blocks = re.findall(r"^```(\w*)\n(.*?)^```", self.text, flags=re.S | re.M)
        self.lines = [
            line for kind, block in blocks if not kind for line in block.replace("\\\n", " ").splitlines() if line
        ]
        """Shell commands, continued lines joined."""
        self.outputs = [block for kind, block in blocks if kind == "text"]
        self.programs = [block for kind, block in blocks if kind == "python"]
        self.settings = [block for kind, block in blocks if kind == "yaml"]
        self.variables = dict(re.findall(r"^(\w+)=(\S+)$", "\n".join(self.lines), flags=re.M))

    def commands(self) -> list[tuple[str, ...]]:
        """The words of each command of a line, the README's variables replaced."""
        words = [shlex.split(command, comments=True) for line in self.lines for command in line.split(" && ")]
        return [tuple(self.variables.get(word.removeprefix("$"), word) for word in command) for command in words]

    def missing_links(self, folder: Path) -> list[str]:
        """Relative links that lead nowhere from the README's folder."""
        targets = re.findall(r"\]\(([^)#]+)\)", self.text)
        return [target for target in targets if not target.startswith("http") and not (folder / target).exists()]
