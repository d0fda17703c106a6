"""Finds students whose texts are nearly the same. There may be several reasons for that."""

import json
import re
from collections import defaultdict
from zlib import crc32

import numpy as np

from roofgrade.common.sentences import escape_text, sentence
from roofgrade.gradebook.result_files import read_results

LEAST_COSINE, FEWEST_WORDS, BINS = 0.9, 30, 8192


def add_remarks(course, assignment, remarks):
    """Add to the lists of ``remarks`` by student who has nearly the same paragraph or notebook.

    Two texts are nearly the same if they use the same runs of three words about equally often.
    """
    release = json.loads(course.release_path(assignment).read_text(encoding="utf-8"))
    known, texts = {"".join(cell["source"]) for cell in release["cells"]}, defaultdict(list)
    for result in read_results(course, assignment):
        for cell in json.loads(result.notebook or '{"cells": []}')["cells"]:
            source, marks = "".join(cell["source"]), cell["metadata"].get("nbgrader", {})
            kinds = ("notebook", "paragraph") if cell["cell_type"] == "markdown" else ("notebook",)
            for kind in () if source in known or marks.get("locked") else kinds:
                texts[kind, result.student] += re.findall(r"\w+", source.casefold())
    texts = {place: words for place, words in texts.items() if len(words) >= FEWEST_WORDS}
    counts = np.zeros((len(texts), BINS), np.float32)
    for row, ((kind, _), words) in zip(counts, texts.items(), strict=True):
        for run in zip(words, words[1:], words[2:], strict=False):
            row[crc32(f"{kind} {run}".encode()) % BINS] += 1
    counts /= np.linalg.norm(counts, axis=1, keepdims=True)
    for (kind, student), row in zip(texts, counts @ counts.T >= LEAST_COSINE, strict=True):
        near = [other for (_, other), is_near in zip(texts, row, strict=True) if is_near]
        if others := ", ".join(escape_text(other) for other in near if other != student):
            remarks.setdefault(student, []).append(sentence(f"summary.same_{kind}", others=others))
