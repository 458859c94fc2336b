"""Workloads, comparisons, and the papers' figures."""
