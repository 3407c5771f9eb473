"""What recipes tell users: one warning and one block of the log for a table, whatever parts of it had to say."""

import contextvars
import os
import warnings

_gathered = contextvars.ContextVar("gathered", default=None)


class GatheredMessages:
    """Gather what is told inside a ``with`` statement, and warn once at its end."""

    def __init__(self):
        # Notes by names of columns, lines of the log, and warnings.
        self.notes, self.lines, self.warnings = {}, [], []

    def __enter__(self):
        self._token = _gathered.set(self)
        return self

    def __exit__(self, *error):
        _gathered.reset(self._token)
        if len(self.warnings) > 1:
            numbered = [f"{k}. {text}" for k, text in enumerate(self.warnings, 1)]
            warn_user("\n".join([f"{len(numbered)} remarks on the columns:", *numbered]))
        elif self.warnings:
            warn_user(self.warnings[0])


def warn_user(text):
    """Warn at the line of the user that calls a recipe."""
    gathered = _gathered.get()
    if gathered is not None:
        gathered.warnings.append(text)
        return
    warnings.warn(text, skip_file_prefixes=(os.path.dirname(__file__),))


def tell_user(log, text, notes=None):
    """Write a line to a log; while messages are gathered, notes of columns stand for it if there are any."""
    gathered = _gathered.get()
    if gathered is None:
        log.info(text)
    elif notes is None:
        gathered.lines.append(text)
    else:
        for name, note in notes.items():
            gathered.notes.setdefault(str(name), []).append(note)
