"""The release's notebook with the student's words in it, whatever became of the cells."""
