"""The pages for people: feedback, Formgrader, the table of a run, the report on a class."""
