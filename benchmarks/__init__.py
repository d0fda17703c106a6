"""Benchmarks that check claims about speed, and the fit of the GPU kernels' constants."""
