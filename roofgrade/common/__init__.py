"""What every part of grading uses: file access without links, limits, sentences, errors, CSV."""
