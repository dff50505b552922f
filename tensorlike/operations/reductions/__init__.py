"""Reductions and scans: sums, extremes, norms, statistics, histograms and running sums."""
