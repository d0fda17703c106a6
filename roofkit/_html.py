"""What every HTML output of the package shares."""


def output(html):
    """HTML for a notebook cell whose output may be folded.

    JupyterLab shows the first line of a folded output, as text; a blank one gives nothing away.
    """
    return f" \n{html}"
