"""The web pages of the course, built from the notebooks and the documents."""
