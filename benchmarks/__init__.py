"""Speed claims, measured as ratios, and the fit of the constants of GPU kernels."""
