"""Mathematics that several families share."""
