"""The course of a draw of steps that are PyMC's NUTS, with other draws before and after its transition."""

import pymc as pm


class NUTSStep(pm.NUTS):
    """Base of steps that make a transition of NUTS; subclasses define ``before(point)`` and ``after(point, given)``.

    ``before`` returns the point where NUTS starts and what ``after`` is given; ``after`` returns the next point.
    """

    def step(self, point):
        point, given = self.before(point)
        # Where its target depends on nothing else, NUTS takes all entries of a point as its own.
        moved, stats = super().step(point if self.shared else {name: point[name] for name in self.var_names})
        return self.after({**point, **moved}, given), stats
