"""A limit on the time that a student's code may take, since a loop in it may never end.

What counts is the work of the process, so that a busy machine takes nothing away from anybody.
While the process does no work, as in a sleep, the clock on the wall counts instead.

Where the time is over, the code is struck by an exception, in the main thread of Linux and macOS
from a signal handler: that ends loops, sleeps, locks, and powers of huge numbers alike. On Windows
and in other threads a thread of its own strikes, which Python does only between two steps of the
code: a sleep or one huge power goes on. Nothing stops a single call of C that asks nobody, such as
``sum(itertools.count())``, a thread that the code has started, or the memory that it takes.
"""

import ctypes
import functools
import random
import signal
import sys
import threading
import time

SECONDS = 3.0
# How often the clock is looked at within the limit. A process sleeps if it works for less than a
# fiftieth of the time between two looks; it gets more than that on any machine.
LOOKS, ASLEEP = 10, 1 / 50
# Code that catches every exception has to be struck between one ``try`` and the next. Of alarms
# that come after so many seconds, by chance, one soon does that; after RETRY seconds comes the next
# where one found no room on the stack. A thread, which has to wait for its turn, would be too late:
# what catches its strike waits so long for the next.
STRIKE_INTERVAL, RETRY_SECONDS, CHANCE = (5e-6, 4e-5), 1e-3, random.Random()
PAUSE_SECONDS = 5e-3
# Raises an exception in another thread, at the next step that it takes.
STRIKE = ctypes.pythonapi.PyThreadState_SetAsyncExc
STRIKE.argtypes = ctypes.c_ulong, ctypes.py_object


class EndlessError(Exception):
    """Code did not come to an end in time."""


class _Strike(BaseException):
    """Ends the student's code; ``except Exception`` does not catch it."""


class _StrikeAndPause(_Strike):
    """The same from another thread, which strikes again while this one is made to wait."""

    __init__ = functools.partial(time.sleep, PAUSE_SECONDS)


class TimeLimit:
    """The ``seconds`` that all calls of one check may take together.

    >>> TimeLimit(3).call(pow, 2, 10)
    1024
    """

    def __init__(self, seconds: float | None = None):
        self._left = seconds or SECONDS
        self._wait = self._left / LOOKS
        self._worked, self._running = 0.0, False

    def call(self, function, *arguments):
        """What the function returns, or raises; EndlessError where the time is over."""
        if self._left <= 0:
            raise EndlessError
        self._worked, trace = time.process_time(), sys.gettrace()
        # A strike within a finaliser goes nowhere, and Python would print it. Nothing can strike
        # within a function of C, and this one does nothing.
        hook, sys.unraisablehook = sys.unraisablehook, id
        try:
            if _can_use_alarms():
                return self._call_with_alarm(function, arguments)
            return self._call_with_watcher(function, arguments)
        except _Strike:
            raise EndlessError from None
        finally:
            sys.unraisablehook = hook
            self._left -= time.process_time() - self._worked
            # Python forgets a debugger's function that was struck.
            if sys.gettrace() is not trace:
                sys.settrace(trace)

    def _is_over(self):
        """Take from the time what has passed since the last look; say whether it is over."""
        before, self._worked = self._worked, time.process_time()
        worked = self._worked - before
        self._left -= worked if worked > ASLEEP * self._wait else self._wait
        return self._left <= 0

    def _call_with_alarm(self, function, arguments):
        """Call the function, with a handler of alarms that strikes."""

        def alarm(signum, frame):
            if not self._running:
                return
            over = self._left <= 0 or self._is_over()
            # One alarm at a time: a second would go to another thread, and come too late.
            wait = CHANCE.uniform(*STRIKE_INTERVAL) if over else self._wait
            signal.setitimer(signal.ITIMER_REAL, wait, RETRY_SECONDS)
            if over:
                raise _Strike

        handler = signal.signal(signal.SIGALRM, alarm)
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            self._running = True
            signal.setitimer(signal.ITIMER_REAL, self._wait, RETRY_SECONDS)
            return function(*arguments)
        finally:
            self._running = False  # first of all: nothing can strike before it
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)

    def _call_with_watcher(self, function, arguments):
        """Call the function, with a thread beside it that strikes."""
        target, done = threading.get_ident(), threading.Lock()

        def watch():
            wait = self._wait
            while not done.acquire(timeout=wait):
                if self._running and (self._left <= 0 or self._is_over()):
                    wait = STRIKE_INTERVAL[0]
                    STRIKE(target, _StrikeAndPause)

        done.acquire()
        beside = threading.Thread(target=watch, daemon=True)
        beside.start()
        try:
            self._running = True
            return function(*arguments)
        finally:
            self._running = False
            # One strike may be on its way still.
            try:
                done.release()
                beside.join()
            except _Strike:
                beside.join()


def _can_use_alarms():
    """Whether this thread can be told the time by signals."""
    main = threading.current_thread() is threading.main_thread()
    # None stands for a handler that is not Python's, which could not be put back.
    return main and hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is not None
