"""What a student answered, read as a number, several numbers, a formula or a unit."""
