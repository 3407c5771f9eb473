"""What PyMC prints of a partition or a mixture."""


def printed_names(name, kind):
    r"""Names of a random variable that show its measure or family.

    PyMC prints the name and, in parentheses, the inputs of the random variable: for a partition its number of items and
    the hyperparameters, for a mixture its partition and the hyperparameters.

    Parameters
    ----------
    name : str
        In lower case.
    kind : type
        Class of the measure or family.

    Returns
    -------
    name : str
        What ``model.to_graphviz`` shows, with a capital letter.
    print_name : tuple of str
        What ``model.str_repr`` shows, plain and in LaTeX.

    Examples
    --------
    >>> printed_names("mixture", float)[0]
    'mixture[float]'
    >>> print(*printed_names("mixture", float)[1])
    Mixture[float] \operatorname{Mixture}[\operatorname{float}]
    """
    title, subtitle = name.capitalize(), kind.__name__
    return f"{name}[{subtitle}]", (
        f"{title}[{subtitle}]",
        f"\\operatorname{{{title}}}[\\operatorname{{{subtitle}}}]",
    )
