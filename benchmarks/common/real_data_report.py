"""Tables and pictures of the part real_data."""


def headline(rows):
    return []


def table(rows):
    return ""


def pictures(rows, folder):
    return {}
