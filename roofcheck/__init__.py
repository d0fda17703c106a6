"""Questions, slips, and the student's check.

``check("ps1.ridge", answer)`` judges an answer by its question: right, a known slip with its
reason, or neither. From the question inwards:

- ``questions``: the tables, one a lecture or problem set; ``kinds``: what sorts of question there
  are; ``inputs``: what they compute with, and what is taken for it
- ``loading``: a table read; ``algebra``: its expressions as trees; ``derivation``: the named steps
  of an answer; ``showing``: how people read them
- ``computation``: a derivation, worked out; ``slips``: which step went wrong, with ``acts`` (what
  can go wrong in a step), ``scales`` (a factor alone) and ``rare`` (too many to tell from a rounded
  value); ``agreement``: when a number is a value; ``diagnosis``: what to say of the slips that fit
- ``chips``: the chips that questions draw from
- ``programs``: what a function did on a counting machine, as plain data, done again and counted;
  ``calling``: how a function is called, within a ``time_limit``
- ``reading``: what a student answered, as a number; ``labels``: as several; ``texts``: as text,
  with ``spelling`` (signs, LaTeX), ``numerals`` (words), ``remarks`` (what is said around it),
  ``amounts`` (units) and ``expressions``
- ``units``: what questions ask for, and how it is shown
- ``table``: every question by its id; ``worked``: the answer and its usual slip, for a slide
- ``student``: check, predict, reveal; ``variants``: figures of each student's own; ``progress``:
  how far one is
- ``answers``: the student's own file of answers; ``review``: what was missed, asked again;
  ``asking``: a question as it shows it, with what stands ``beside`` it; ``typed``: answers as text;
  ``commands``: the same on a command line
- ``course``: the course around a notebook, what it holds, and what a teacher set for a term
- ``explaining``: how the answer of any kind comes about; ``answer_page``: the answers of a
  set as a page; ``page`` and ``templates``: its form
- ``standing``: how far a student is; ``home``: the course's home in JupyterLab
- ``hand_in``: hand in a set in one step, after a ``rerun`` from the top; ``exchange``: nbgrader's,
  where a class has one; ``ids``: those that a teacher gave out
- ``cells``: the line of a notebook by which it asks; ``first_cell``: what is said of a cell that is
  run before the set-up
- ``words``: every sentence, a table a language; ``sentences``: how they are looked up
"""

from roofcheck.handin.hand_in import hand_in
from roofcheck.study.check import Grade, check, predict, reveal
from roofcheck.study.review import review
from roofcheck.study.set_progress import progress
from roofcheck.tables.catalogue import find_question
from roofcheck.tables.variants import ask

__all__ = [
    "Grade", "ask", "check", "find_question", "hand_in", "predict", "progress", "reveal", "review",
]  # fmt: skip
