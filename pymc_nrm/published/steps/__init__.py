"""Published samplers as steps."""
