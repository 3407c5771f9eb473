"""Tables of the part that compares labels as an index with stick-breaking."""

from common.part import markdown, spread

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
    lines = []
    for problem, n_slots, method in dict.fromkeys((r["problem"], r["n_slots"], r["method"]) for r in rows):
        chosen = [r for r in rows if (r["problem"], r["n_slots"], r["method"]) == (problem, n_slots, method)]
        lines.append(
            (
                problem,
                n_slots,
                method,
                _range([r["milliseconds"] for r in chosen]),
                *[
                    f"{_range([r[f'rate_{name}'] for r in chosen])} ({max(r[f'r_hat_{name}'] for r in chosen):.2f})"
                    for name in RATES
                ],
            )
        )
    text += markdown(("Data", "K", "Method", "ms/draw", *RATES.values()), lines)
    for n_slots, ratios in gains(rows).items():
        text += f"\nK = {n_slots}: the package over nutpie, "
        text += ", ".join(f"{RATES[name]} {_range(values)} times" for name, values in ratios.items()) + ".\n"
    return text


def gains(rows):
    """Rates of the package over those of the peer, for each number of slots and each functional."""
    found = {}
    for row in rows:
        if row["method"] != PACKAGE:
            continue
        for peer in rows:
            same = all(peer[key] == row[key] for key in ("problem", "repeat", "n_slots"))
            if same and peer["method"] == NUTPIE:
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
        lines.append(
            (
                f"Effective samples per CPU second over stick-breaking under nutpie, any likelihood, K = {n_slots}",
                f"{min(every):.3g} to {max(every):.3g} times",
                f"at least {target} times",
                min(every) >= target,
            )
        )
    return lines


def _range(values):
    found = spread(values)
    if len(values) == 1:
        return f"{found['median']:.3g}"
    return f"{found['median']:.3g} ({found['least']:.3g} to {found['most']:.3g})"
