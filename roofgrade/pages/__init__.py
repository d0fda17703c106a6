"""Makes the pages for people: feedback, Formgrader, a run's table, and the report on a class."""
