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
from roofcheck.running.calling import told
from roofcheck.sentences import say
from roofcheck.showing.asking import is_code, signature
from roofcheck.study.student import quietly
from roofcheck.tables.table import find_question

# What typed code finds imported.
IMPORTED = {"math": math, "np": np, "rk": rk}
SECONDS = 60


def draft(question: Question) -> str:
    """What stands in the box or the lines where an answer is typed: the head of a function."""
    return f"def {signature(question)}:" if is_code(question) else ""


def judge(question_id: str, seed: str, question: Question, text: str) -> Verdict:
    """The Verdict on a text as the answer to a question, which is that of the id as ``seed`` draws.

    What cannot be read as code is asked about and not judged.
    """
    code = text.strip()
    if not code or code == draft(question):
        return Verdict(0, say("typed.nothing"), "missing")
    if not is_code(question):
        return quietly(question.judge, code)
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
        return Verdict(0, say("typed.ended"), "asked")
    return Verdict(**record | {name: tuple(record[name]) for name in ("slips", "right")})


def _judge_code(question, code):
    """The Verdict on the function that code defines."""
    names = dict(IMPORTED)
    try:
        exec(compile(code, say("typed.name"), "exec"), names)
    except SyntaxError as error:
        why = say("typed.syntax", line=error.lineno, why=error.msg)
        return Verdict(0, why, "asked")
    except Exception as error:
        return Verdict(0, say("typed.fails", error=told(error)), "asked")
    name = signature(question).partition("(")[0]
    if not callable(names.get(name)):
        return Verdict(0, say("typed.no-function", name=name), "asked")
    return question.judge(names[name])


def main():
    """Judge the code that stdin names as JSON, and print the Verdict as JSON."""
    asked = json.load(sys.stdin)
    question = find_question(asked["question_id"]).drawn(asked["seed"])
    with contextlib.redirect_stdout(sys.stderr):
        verdict = quietly(_judge_code, question, asked["code"])
    print(json.dumps(asdict(verdict)))
