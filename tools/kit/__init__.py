"""The zip file that students get."""
