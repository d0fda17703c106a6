"""What people read: feedback, Formgrader's pages, the table of a run, the report on a class.

- ``summary``: what became of each submission, for the terminal and as a page
- ``feedback``: the page that a student gets; ``templates``: what is in it, and in Formgrader's page
- ``cleaning``: a graded notebook as ready HTML, made within bounds, that can harm no page
- ``markup``: Markdown, HTML, TeX and code of students as harmless HTML; ``drawing``: which drawings
  are simple enough
- ``report``: what a class got wrong; ``lessons``: which lecture cell teaches against it
"""
