"""What people read: feedback, Formgrader's pages, the table of a run, the report on a class.

- ``summary``: what became of each submission, for the terminal and as a page
- ``feedback``: the page that a student gets; ``templates``: its form, and that of Formgrader's page
- ``cleaning``: a graded notebook with nothing in it that could harm a page
- ``markup``: Markdown, HTML and TeX of students as harmless HTML
- ``report``: what a class got wrong; ``lessons``: which lecture cell teaches against it
"""
