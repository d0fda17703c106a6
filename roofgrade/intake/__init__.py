"""What came in: whose each folder is, what an LMS's zip holds, and which files may be read.

- ``folders``: everything in ``submitted/`` for one set, and of each folder the notebook that counts
- ``names``: which set a file's name means, and whom an LMS names in it
- ``people``: the students of a roster, and who of them is meant by a name or a number
- ``files``: the files of a folder, within bounds
- ``archives``: the zip of an LMS, put where it belongs
- ``roster``: the names of students, from a CSV file
"""
