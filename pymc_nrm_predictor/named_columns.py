"""Features of new data by their names, whatever the order of the columns is."""


def in_order(title, X, names):
    """Data with its columns in the order of the names of the features, if it has just these names; otherwise ``X``.

    A DataFrame has the names of its columns, a Dataset of its variables, a matrix of xarray the coordinates of its
    second dimension.
    """
    if names is None:
        return X
    names = [str(name) for name in names]
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        order = _order(X.columns, names)
        return X if order is None else X.iloc[:, order]
    if hasattr(X, "data_vars"):
        order, given = _order(X.data_vars, names), list(X.data_vars)
        return X if order is None else X[[given[place] for place in order]]
    if hasattr(X, "isel") and hasattr(X, "coords") and getattr(X, "ndim", 0) == 2:
        orders = [_order(X.coords[dim].values, names) if dim in X.coords else None for dim in X.dims]
        if orders[1] is not None:
            return X.isel({X.dims[1]: orders[1]})
        if orders[0] is not None:
            raise ValueError(
                f"{title} must have the new items along its first dimension and the features along its second; got "
                f"features along the first, {X.dims[0]!r}"
            )
    return X


def _order(given, names):
    """Places of the names among the given ones; None unless both are the same different names."""
    places = {str(name): place for place, name in enumerate(given)}
    if len(places) != len(given) or len(given) != len(names) or places.keys() != set(names):
        return None
    return [places[name] for name in names]
