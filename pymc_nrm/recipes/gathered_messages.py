"""One warning in place of all lines and warnings of a fit."""

import contextlib
import logging
import threading
import warnings

# Parents of the loggers of PyMC and of this package.
_PARENTS = ("pymc", "pymc_nrm")


class _Gather(logging.Filter):
    """Drop the lines of the thread that made it, and keep the text of warnings and errors."""

    def __init__(self, texts):
        super().__init__()
        self._texts, self._thread = texts, threading.get_ident()

    def filter(self, record):
        if record.thread != self._thread:
            return True
        if record.levelno >= logging.WARNING:
            self._texts.append(record.getMessage())
        return False


@contextlib.contextmanager
def gathered_messages():
    """Log nothing, and yield a list that gets the texts of warnings, logged or not, in their order.

    If something fails, warnings are shown as they would have been; those that are not a UserWarning are in any case.
    """
    texts, caught, failed = [], [], True
    names = [name for name in logging.root.manager.loggerDict if name.split(".")[0] in _PARENTS]
    loggers, gather = [logging.getLogger(name) for name in names], _Gather(texts)
    for logger in loggers:
        logger.addFilter(gather)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield texts
        failed = False
    finally:
        for logger in loggers:
            logger.removeFilter(gather)
        shown = [warning for warning in caught if failed or warning.category is not UserWarning]
        texts[:0] = [str(warning.message) for warning in caught if warning not in shown]
        for warning in shown:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)


def one_text(texts, how_to_see):
    """The text of one warning for several texts, each once, and how to see more; None if there are none."""
    texts = list(dict.fromkeys(texts))
    if len(texts) < 2:
        return texts[0] if texts else None
    numbered = [f"{k}. {text}" for k, text in enumerate(texts, start=1)]
    return "\n".join([f"{len(texts)} messages of this fit ({how_to_see}):", *numbered])
