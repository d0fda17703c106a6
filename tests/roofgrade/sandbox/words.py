"""Reads what the sandbox replies as plain text."""


def answer(number):
    """The answer to a probe for a whole number."""
    return {"value": {"t": "int", "v": f"{number}"}, "said": ""}


def said(reply):
    """Streams, results and errors, one after the other."""
    return "\n".join(map(_words, reply["outputs"]))


def _words(output):
    if output["output_type"] == "stream":
        return output["text"]
    if output["output_type"] == "error":
        return f"{output['ename']}: {output['evalue']}"
    return output["data"].get("text/plain", "")
