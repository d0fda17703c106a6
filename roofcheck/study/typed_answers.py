"""An answer that is typed as text: a line, or the code of a function.

Code runs in a process of its own, so that whatever it does ends with that process.
"""

import contextlib
import json
import math
import os
import subprocess
import sys
from dataclasses import asdict

import numpy as np

import roofkit as rk
from roofcheck.kinds import Question, Verdict
from roofcheck.running.call_student import error_text
from roofcheck.sentences import sentence
from roofcheck.showing.question_page import find_signature, is_answered_by_code
from roofcheck.study.check import judge_quietly
from roofcheck.tables.catalogue import find_question

# What typed code finds imported.
CODE_NAMES = {"math": math, "np": np, "rk": rk}
SECONDS = 60


def function_head(question: Question) -> str:
    """What stands in the box or the lines where an answer is typed: the head of a function."""
    return f"def {find_signature(question)}:" if is_answered_by_code(question) else ""


def judge_text(question_id: str, seed: str, question: Question, text: str) -> Verdict:
    """The Verdict on a text as the answer to a question, which is that of the id as ``seed`` draws.

    What cannot be read as code is asked about and not judged.
    """
    code = text.strip()
    if not code or code == function_head(question):
        return Verdict(0, sentence("typed.nothing"), "missing")
    if not is_answered_by_code(question):
        return judge_quietly(question.judge, code)
    asked = json.dumps({"question_id": question_id, "seed": seed, "code": text})
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    # It imports what this process would.
    found = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command,
            input=asked,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            env=os.environ | found,
        )
        record = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return Verdict(0, sentence("typed.ended"), "asked")
    return Verdict(**record | {name: tuple(record[name]) for name in ("slips", "right")})


def _judge_code(question, code):
    """The Verdict on the function that code defines."""
    names = dict(CODE_NAMES)
    try:
        exec(compile(code, sentence("typed.name"), "exec"), names)
    except SyntaxError as error:
        why = sentence("typed.syntax", line=error.lineno, why=error.msg)
        return Verdict(0, why, "asked")
    except Exception as error:
        return Verdict(0, sentence("typed.fails", error=error_text(error)), "asked")
    name = find_signature(question).partition("(")[0]
    if not callable(names.get(name)):
        return Verdict(0, sentence("typed.no-function", name=name), "asked")
    return question.judge(names[name])


def main():
    """Judge the code that stdin names as JSON, and print the Verdict as JSON."""
    asked = json.load(sys.stdin)
    question = find_question(asked["question_id"]).with_new_figures(asked["seed"])
    with contextlib.redirect_stdout(sys.stderr):
        verdict = judge_quietly(_judge_code, question, asked["code"])
    print(json.dumps(asdict(verdict)))
