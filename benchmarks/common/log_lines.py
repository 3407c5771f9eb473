"""What the package logs, and what its report says of the chains of a run."""

import logging
from contextlib import contextmanager


class Lines(logging.Handler):
    """Keeps the lines of a log."""

    def __init__(self):
        super().__init__()
        self.texts = []

    def emit(self, record):
        self.texts.append(record.getMessage())

    def verdict(self):
        """What the last report says of the chains: "fine", "nearly fine" or "the chains disagree"."""
        reports = [line for line in "\n".join(self.texts).splitlines() if line.startswith("Convergence of")]
        return reports[-1].split(": ")[1].split(";")[0].rstrip(".") if reports else "not judged"


@contextmanager
def logged():
    """The lines that are logged inside."""
    logs, lines = [logging.getLogger(name) for name in ("pymc", "pymc_nrm")], Lines()
    levels = [log.level for log in logs]
    for log in logs:
        log.addHandler(lines)
        log.setLevel(logging.INFO)
    try:
        yield lines
    finally:
        for log, level in zip(logs, levels, strict=True):
            log.removeHandler(lines)
            log.setLevel(level)
