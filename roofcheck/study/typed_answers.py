"""Judge answers typed as text, either a line or the code of a function.

Code runs in its own process, so its effects end with that process.
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
from roofcheck.showing.question_page import describe_answer, find_signature, is_answered_by_code
from roofcheck.study.check import judge_without_output
from roofcheck.tables.catalogue import find_question

# The modules that typed code can use.
CODE_NAMES = {"math": math, "np": np, "rk": rk}
SECONDS = 60
HELP_WORDS = ("help", "?", "help()")


def function_head(question: Question) -> str:
    """Return the first line of the function to type, or "" for other questions."""
    return f"def {find_signature(question)}:" if is_answered_by_code(question) else ""


def judge_text(question_id: str, seed: str, question: Question, text: str) -> Verdict:
    """Judge a text as an answer to ``question``, drawn with ``seed`` from the one with this id.

    Code with a syntax error gets a verdict that asks for the answer again.
    """
    code = text.strip()
    if not code or code == function_head(question):
        return Verdict(0, sentence("typed.nothing"), "missing")
    if code.casefold() in HELP_WORDS:
        return Verdict(0, describe_answer(question, seed), "asked")
    if not is_answered_by_code(question):
        return judge_without_output(question.judge, code)
    request = json.dumps({"question_id": question_id, "seed": seed, "code": text})
    command = [sys.executable, "-P", "-c", f"from {__name__} import main; main()"]
    # The process uses the same import path as this one.
    path = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    try:
        done = subprocess.run(
            command,
            input=request,
            capture_output=True,
            encoding="utf-8",
            timeout=SECONDS,
            env=os.environ | path,
        )
        record = json.loads(done.stdout)
    except (subprocess.TimeoutExpired, ValueError):
        return Verdict(0, sentence("typed.ended"), "asked")
    return Verdict(**record | {name: tuple(record[name]) for name in ("slips", "right")})


def _judge_code(question, code):
    """Judge the function that this code defines."""
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
    """Judge the code in the JSON on stdin, and print the Verdict as JSON."""
    request = json.load(sys.stdin)
    question = find_question(request["question_id"]).with_new_figures(request["seed"])
    with contextlib.redirect_stdout(sys.stderr):
        verdict = judge_without_output(_judge_code, question, request["code"])
    print(json.dumps(asdict(verdict)))
