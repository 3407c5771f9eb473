"""Small data sets that come with the package."""

from importlib.resources import files

import numpy as np
import pandas as pd

__all__ = ["galaxies", "old_faithful", "penguins"]


def galaxies() -> np.ndarray:
    """Velocities of 82 galaxies in the Corona Borealis region, in km/s, in increasing order.

    Distant galaxies recede faster, so gaps between the velocities show voids between groups of galaxies.

    Returns
    -------
    ndarray of float64, shape (82,)

    Notes
    -----
    Postman, Huchra & Geller (1986), "Probes of large-scale structure in the Corona Borealis region", measured them;
    Roeder (1990), "Density estimation with confidence sets exemplified by superclusters and voids in the galaxies",
    first used them for mixtures.  The 78th value is 26960, as in the first paper; copies of the data with 26690 have
    two digits swapped.

    Examples
    --------
    >>> velocities = galaxies()
    >>> velocities.shape, velocities.min(), velocities.max()
    ((82,), np.float64(9172.0), np.float64(34279.0))
    """
    return _read("galaxies.csv")[:, 0]


def old_faithful() -> np.ndarray:
    """Eruptions of the geyser Old Faithful: duration, and waiting time to the next eruption, both in minutes.

    Short eruptions are followed by short waits, long ones by long waits.

    Returns
    -------
    ndarray of float64, shape (272, 2)
        One row per eruption: duration, waiting time.

    Notes
    -----
    This is the series of Härdle (1991), "Smoothing Techniques with Implementation in S", as distributed with R, in the
    order of observation.  Azzalini & Bowman (1990), "A look at some data on the Old Faithful geyser", describe a
    similar series.  Durations were rounded to seconds or coarser before they were converted to minutes.

    Examples
    --------
    >>> eruptions = old_faithful()
    >>> eruptions.shape, eruptions.min(axis=0).tolist(), eruptions.max(axis=0).tolist()
    ((272, 2), [1.6, 43.0], [5.1, 96.0])
    """
    return _read("old_faithful.csv")


def penguins() -> pd.DataFrame:
    """Penguins of three species on three islands of the Palmer Archipelago, Antarctica, as a table of mixed columns.

    Returns
    -------
    DataFrame
        344 rows, some values missing: ``species``, ``island``, ``bill_length_mm``, ``bill_depth_mm``,
        ``flipper_length_mm``, ``body_mass_g``, ``sex`` and ``year`` of observation.

    Notes
    -----
    Gorman, Williams & Fraser (2014), "Ecological sexual dimorphism and environmental variability within a community of
    Antarctic penguins (genus Pygoscelis)", measured them at Palmer Station LTER; Horst, Hill & Gorman (2020),
    "palmerpenguins", compiled this table, which is in the public domain (CC0).

    Examples
    --------
    >>> table = penguins()
    >>> table.shape, int(table.isna().any(axis=1).sum()), table["species"].unique().tolist()
    ((344, 8), 11, ['Adelie', 'Gentoo', 'Chinstrap'])
    """
    with files(__package__).joinpath("penguins.csv").open(encoding="utf-8") as file:
        return pd.read_csv(file)


def _read(name):
    """Numbers in a file below a header line, shape (n, d)."""
    lines = files(__package__).joinpath(name).read_text(encoding="utf-8").splitlines()
    return np.array([[float(value) for value in line.split(",")] for line in lines[1:]])
