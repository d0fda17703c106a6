"""What people read: feedback, Formgrader's pages, the table of a run, the report on a class."""
