"""A question's named steps: their arithmetic, what they compute with, and their values."""
