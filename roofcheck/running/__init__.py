"""Call a student's function within a time limit, or record it on a counting machine."""
