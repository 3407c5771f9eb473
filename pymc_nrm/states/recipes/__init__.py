"""Models of time series in one call."""
