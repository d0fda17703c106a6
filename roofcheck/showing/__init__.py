"""A question and the way to its answer, as text, HTML and Markdown."""
