"""What recipes tell users: one warning, and one block of the log, of everything that parts of a recipe have to say."""

import contextvars
import logging
import os
import threading
import warnings

from pymc_nrm.common.wrapping import wrapped

_gathered = contextvars.ContextVar("gathered", default=None)

# Parents of the loggers of PyMC and of this package.
_PARENTS = ("pymc", "pymc_nrm")


class GatheredMessages:
    """Gather what recipes tell inside a ``with`` statement, and warn once at its end.

    What is gathered inside another one is part of the warning of the outer one.
    """

    def __init__(self, title="remarks on the columns"):
        self._title = title
        # Notes by names of columns, lines of the log, and texts of warnings.
        self.notes, self.lines, self.warnings = {}, [], []

    def __enter__(self):
        self._token = _gathered.set(self)
        return self

    def __exit__(self, *error):
        _gathered.reset(self._token)
        outer, texts = _gathered.get(), list(dict.fromkeys(self.warnings))
        if outer is not None:
            outer.warnings += texts
        elif len(texts) > 1:
            numbered = [f"{k}. {text}" for k, text in enumerate(texts, 1)]
            warn_user("\n".join([f"{len(texts)} {self._title}:", *numbered]))
        elif texts:
            warn_user(texts[0])


class AllMessages(GatheredMessages):
    """Gather the warnings of all of PyMC and this package as well, logged or not, and log nothing.

    Warnings of another class than UserWarning are shown as usual.
    """

    def __enter__(self):
        self._loggers = [logging.getLogger(name) for name in _names_of_loggers()]
        self._filter = _Gather(self.warnings)
        for logger in self._loggers:
            logger.addFilter(self._filter)
        self._catch = warnings.catch_warnings(record=True)
        self._caught = self._catch.__enter__()
        warnings.simplefilter("always")
        return super().__enter__()

    def __exit__(self, *error):
        self._catch.__exit__(*error)
        for logger in self._loggers:
            logger.removeFilter(self._filter)
        for warning in self._caught:
            if warning.category is UserWarning:
                self.warnings.append(str(warning.message))
            else:
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
        super().__exit__(*error)


class _Gather(logging.Filter):
    """Drop the lines of the thread that made it, and keep the texts of warnings and errors."""

    def __init__(self, texts):
        super().__init__()
        self._texts, self._thread = texts, threading.get_ident()

    def filter(self, record):
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING:
            self._texts.append(record.getMessage())
        return False


def _names_of_loggers():
    return [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _PARENTS]


def warn_user(text):
    """Warn at the line of the user that calls a recipe."""
    gathered = _gathered.get()
    if gathered is not None:
        gathered.warnings.append(text)
        return
    warnings.warn(wrapped(text), skip_file_prefixes=(os.path.dirname(__file__),))


def tell_user(log, text, notes=None):
    """Write a line to a log; while messages are gathered, notes of columns stand for it if there are any."""
    gathered = _gathered.get()
    if gathered is None:
        log.info(wrapped(text))
    elif notes is None:
        gathered.lines.append(text)
    else:
        for name, note in notes.items():
            gathered.notes.setdefault(str(name), []).append(note)
