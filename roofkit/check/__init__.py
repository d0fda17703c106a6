"""Questions, slips, and the student's check.

``check("ps1.ridge", answer)`` judges an answer by the question's table (``questions``): right, a
known slip with its reason, or neither. ``kinds`` holds what sorts of question there are, ``inputs``
what they compute with, ``slips`` which step went wrong, ``reading`` what a student wrote, ``units``
and ``expressions`` how it is written, ``words`` every sentence.
"""

from roofkit.check.student import Grade, check, find_question, predict, reveal

__all__ = ["Grade", "check", "find_question", "predict", "reveal"]
