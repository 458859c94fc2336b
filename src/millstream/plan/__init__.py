"""What a query is made of, before it runs."""
