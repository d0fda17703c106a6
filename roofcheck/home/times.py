"""Format durations and times for the home page."""

from datetime import datetime, timedelta

from roofcheck.sentences import sentence


def format_length(minutes: int) -> str:
    """Return a duration in words.

    >>> format_length(50), format_length(120), format_length(210)
    ('50 min', '2 h', '3 h 30 min')
    """
    hours, rest = divmod(minutes, 60)
    key = "hours-minutes" if hours and rest else "hours" if hours else "minutes"
    return sentence(f"home.{key}", hours=hours, minutes=rest)


def format_moment(moment: datetime) -> str:
    """Return a time in this machine's time zone, with the zone's name."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M %Z}".strip()


def format_time_left(time: timedelta) -> str:
    """Return the time left in days, or in hours on the last day."""
    if time.days:
        return sentence("home.day-left" if time.days == 1 else "home.days-left", days=time.days)
    hours = time.seconds // 3600
    return sentence("home.hours-left", hours=hours) if hours > 1 else sentence("home.hour-left")
