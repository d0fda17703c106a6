"""Lengths of time and moments, as the page says them."""

from datetime import datetime, timedelta

from roofcheck.sentences import say


def length(minutes: int) -> str:
    """How long something takes.

    >>> length(50), length(120), length(210)
    ('50 min', '2 h', '3 h 30 min')
    """
    hours, rest = divmod(minutes, 60)
    key = "hours-minutes" if hours and rest else "hours" if hours else "minutes"
    return say(f"home.{key}", hours=hours, minutes=rest)


def shown(moment: datetime) -> str:
    """A moment in the zone of this machine, which is named."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M %Z}".strip()


def left(time: timedelta) -> str:
    """How much time is left, in days or, on the last day, in hours."""
    if time.days:
        return say("home.day-left" if time.days == 1 else "home.days-left", days=time.days)
    hours = time.seconds // 3600
    return say("home.hours-left", hours=hours) if hours > 1 else say("home.hour-left")
