"""Speed of packing against bare `tokenizers.encode_batch`, and the memory that packing a large file takes.

    python -m experiments.benchmarks.packing [--megabytes 16] [--gigabytes 1] [--repeats 3]

The text is that of the packaged corpora, its lines shuffled and repeated until it has the given size. Speed: both read
the same documents in one process, and the best repeat counts; packing includes reading the file, splitting, writing and
hashing, but not the training of the tokenizer. Memory: peak resident size of a process that does nothing but pack the
file, the training of the tokenizer included.
"""

from __future__ import annotations

import argparse
import functools
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from experiments.corpora import KingJames, LocalText, PeoplesDaily, SplitByHash
from experiments.text.packing import pack
from experiments.text.tokenizer import Tokenizer, TokenizerConfig

CASES: tuple[tuple[Callable[[], SplitByHash], str], ...] = (
    (KingJames, "bpe"),
    (KingJames, "wordpiece"),
    (PeoplesDaily, "character"),
)
BLOCK_LENGTH = 128


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=float, default=16, help="size of the text for the speed (0: skip it)")
    parser.add_argument("--gigabytes", type=float, default=1, help="size of the file for the memory (0: skip it)")
    parser.add_argument("--repeats", type=int, default=3, help="runs of which the best counts")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        if options.megabytes:
            print(f"{'corpus':14}{'tokenizer':12}{'encode_batch':>16}{'pack':>16}{'ratio':>8}")
            for corpus, kind in CASES:
                bare, packed = speeds(corpus(), kind, options.megabytes * 1e6, options.repeats, Path(folder))
                cells = f"{bare / 1e6:>11.2f} Mc/s{packed / 1e6:>11.2f} Mc/s{packed / bare:>8.2f}"
                print(f"{corpus.__name__:14}{kind:12}{cells}", flush=True)
        if options.gigabytes:
            peak, seconds = memory(options.gigabytes * 1e9, Path(folder))
            print(f"packing {options.gigabytes:g} GB: {peak / 2**30:.2f} GiB at most, {seconds:.0f} s")


def speeds(corpus: SplitByHash, kind: str, size: float, repeats: int, folder: Path) -> tuple[float, float]:
    """Characters a second of encode_batch and of pack."""
    text = folder / f"{type(corpus).__name__}.txt"
    write_text(corpus, size, text)
    tokenizer = Tokenizer.train(kind, 4096, corpus.documents("train"))
    tokenizer.save(folder / f"{kind}.json")
    local = LocalText(str(text), validation=0.01)
    documents = list(local.texts())
    characters = sum(map(len, documents))
    config = TokenizerConfig(str(folder / f"{kind}.json"))
    bare, packing = [], []
    for repeat in range(repeats):
        bare.append(_seconds(lambda: tokenizer.backend.encode_batch(documents, add_special_tokens=False)))
        root = folder / f"{kind}{repeat}"
        packing.append(_seconds(functools.partial(pack, local, config, BLOCK_LENGTH, root)))
    return characters / min(bare), characters / min(packing)


def memory(size: float, folder: Path) -> tuple[int, float]:
    """Peak resident bytes and seconds of a process that packs a file of so many bytes."""
    text = folder / "large.txt"
    write_text(KingJames(), size, text)
    code = f"from experiments.benchmarks.packing import pack_alone; pack_alone({str(text)!r}, {str(folder)!r})"
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    peak, seconds = done.stdout.split()
    return int(peak), float(seconds)


def pack_alone(text: str, root: str) -> None:
    """Packs a file and prints the process's peak resident bytes and the seconds taken."""
    seconds = _seconds(lambda: pack(LocalText(text), TokenizerConfig("bpe"), BLOCK_LENGTH, root))
    print(_peak(), seconds)


def _peak() -> int:
    """Peak resident bytes. On Linux ru_maxrss would count the parent process, too."""
    status = Path("/proc/self/status")
    if status.exists():
        return 1024 * int(status.read_text().partition("VmHWM:")[2].split()[0])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def write_text(corpus: SplitByHash, size: float, path: Path) -> None:
    """A text file of about so many bytes: lines of 300 characters, in random order."""
    words = " ".join(corpus.texts())
    lines = [words[start : start + 300].encode() + b"\n" for start in range(0, len(words), 300)]
    draw = random.Random(0)
    with open(path, "wb") as file:
        while file.tell() < size:
            draw.shuffle(lines)
            file.writelines(lines)


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
