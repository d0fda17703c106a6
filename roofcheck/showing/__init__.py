"""Show a question and the derivation of its answer as text, HTML or Markdown."""
