"""What PyMC prints of a partition or a mixture."""


def printed_names(name, kind):
    r"""Names of a random variable that show its measure or family.

    PyMC prints the name and, in parentheses, the inputs of the random variable: for a partition its number of items and
    the hyperparameters, for a mixture its partition and the hyperparameters. Returns the name in graphs, with a capital
    letter, and that in text, plain and in LaTeX.
    """
    title, subtitle = name.capitalize(), kind.__name__
    return f"{name}[{subtitle}]", (
        f"{title}[{subtitle}]",
        f"\\operatorname{{{title}}}[\\operatorname{{{subtitle}}}]",
    )
