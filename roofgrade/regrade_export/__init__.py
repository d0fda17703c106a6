"""What changes grades once they stand, and what takes them to an LMS.

- ``regrade``: one question judged again after its table changed
- ``late``: what handing in late costs
- ``export``: grades as CSV, for Moodle, for Canvas or plain
"""
