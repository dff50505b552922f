"""Sums, extremes, norms, statistics, histograms and running sums: many elements make one."""
