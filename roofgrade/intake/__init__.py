"""What came in: whose each folder is, what an LMS's zip holds, and which files may be read."""
