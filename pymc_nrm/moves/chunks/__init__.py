"""One chain over rows in chunks: labels stay with the chunks, and only sums of integers come back."""
