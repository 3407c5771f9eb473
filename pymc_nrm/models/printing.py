"""What PyMC prints of a partition or a mixture."""


def printed_names(name, kind):
    """Names of a random variable that show its measure or family: that in graphs, and those in text and LaTeX."""
    title, subtitle = name.capitalize(), kind.__name__
    return f"{name}[{subtitle}]", (
        f"{title}[{subtitle}]",
        f"\\operatorname{{{title}}}[\\operatorname{{{subtitle}}}]",
    )
