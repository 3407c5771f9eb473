"""Tables of the part that compares labels as an index with stick-breaking."""

from common.part import groups, interval, markdown, spread, where

ALPHA, N_CHAINS = 1.0, 2
PACKAGE, NUTPIE = "slots of the package", "stick-breaking, nutpie"
RATES = {"clusters": "clusters", "log_likelihood": "complete log-likelihood", "largest": "largest cluster"}


def table(rows):
    text = (
        f"Dirichlet process mixtures, DP({ALPHA:g}), of likelihoods without conjugate priors, n = 1000; K slots, or K "
        f"sticks with labels summed out for NUTS and drawn afterwards at no charge.  {N_CHAINS} chains; CPU seconds of "
        "one core after tuning.  Effective samples per CPU second, with the largest R-hat of the repeats in brackets: "
        "above 1.1 the rate is an upper bound.  Ranges are over data sets.\n\n"
    )
    shown = {"Data": "problem", "K": "n_slots", "Method": "method"}
    lines = []
    for key, chosen in groups(rows, *shown.values()).items():
        rates = [
            f"{_range([row[f'rate_{name}'] for row in chosen])} ({max(row[f'r_hat_{name}'] for row in chosen):.2f})"
            for name in RATES
        ]
        lines.append((*key, _range([row["milliseconds"] for row in chosen]), *rates))
    text += markdown((*shown, "ms/draw", *RATES.values()), lines)
    for n_slots, ratios in gains(rows).items():
        text += f"\nK = {n_slots}: the package over nutpie, "
        text += ", ".join(f"{RATES[name]} {_range(values)} times" for name, values in ratios.items()) + ".\n"
    return text


def gains(rows):
    """Rates of the package over those of the peer, for each number of slots and each functional."""
    found = {}
    for row in where(rows, method=PACKAGE):
        for peer in where(rows, method=NUTPIE, **{key: row[key] for key in ("problem", "repeat", "n_slots")}):
            for name in RATES:
                if peer[f"rate_{name}"]:
                    ratios = found.setdefault(row["n_slots"], {}).setdefault(name, [])
                    ratios.append(row[f"rate_{name}"] / peer[f"rate_{name}"])
    return found


def headline(rows):
    """Claims: the smallest gain of each number of slots."""
    lines = []
    for n_slots, ratios in gains(rows).items():
        every = [value for values in ratios.values() for value in values]
        target = 2 if n_slots <= 20 else 10
        claim = f"Effective samples per CPU second over stick-breaking under nutpie, any likelihood, K = {n_slots}"
        measured = f"{min(every):.3g} to {max(every):.3g} times"
        lines.append((claim, measured, f"at least {target} times", min(every) >= target))
    return lines


def _range(values):
    return interval(spread(values))
