"""A stage becomes something that runs."""
