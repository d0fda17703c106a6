"""A time limit for a student's code.

The limit applies to the CPU time of the process, so a busy machine costs a student nothing. While
the process is idle, for example asleep, wall-clock time counts instead.

When the time is up, an exception stops the code. In the main thread on Linux and macOS, a signal
handler raises it, which ends loops, sleeps, locks, and powers of huge numbers. On Windows and in
other threads, a watcher thread raises it, and Python delivers it only between two bytecodes, so a
sleep or one huge power continues. Nothing stops a single C call that checks no signals, such as
``sum(itertools.count())``, or a thread that the code started, and nothing limits memory.
"""

import ctypes
import functools
import random
import signal
import sys
import threading
import time

SECONDS = 3.0
# The clock is checked ten times within the limit. A process that used less than a fiftieth of the
# time between two checks counts as asleep. A running one gets more than that on any machine.
LOOKS, ASLEEP = 10, 1 / 50
# Code with a bare ``except`` catches the strike, so another follows after a random 5 to 40 µs.
# Sooner or later, one falls between two ``try`` blocks. If the handler finds no room on the stack,
# the next alarm comes after RETRY_SECONDS. A watcher thread is too slow for this, so code that
# catches its strike sleeps for PAUSE_SECONDS, until the next strike.
STRIKE_INTERVAL, RETRY_SECONDS, CHANCE = (5e-6, 4e-5), 1e-3, random.Random()
PAUSE_SECONDS = 5e-3
# Raises an exception in another thread, before its next bytecode.
STRIKE = ctypes.pythonapi.PyThreadState_SetAsyncExc
STRIKE.argtypes = ctypes.c_ulong, ctypes.py_object


class EndlessError(Exception):
    """The code did not finish in time."""


class _Strike(BaseException):
    """Stops the student's code; ``except Exception`` does not catch it."""


class _StrikeAndPause(_Strike):
    """A strike from another thread; code that catches it sleeps until the next strike."""

    __init__ = functools.partial(time.sleep, PAUSE_SECONDS)


def _run_answer(function, arguments):
    return function(*arguments)


def _is_in_answer(frame):
    """Return whether a frame runs below `_run_answer`, and not in the block that cleans up.

    A second strike could otherwise interrupt that block at its first line, and leave the timer on.
    """
    while frame and frame.f_code is not TimeLimit._call_with_alarm.__code__:
        if frame.f_code is _run_answer.__code__:
            return True
        frame = frame.f_back
    return False


class TimeLimit:
    """A limit of ``seconds`` shared by all calls of one check.

    >>> TimeLimit(3).call(pow, 2, 10)
    1024
    """

    def __init__(self, seconds: float | None = None):
        self._left = seconds or SECONDS
        self._wait = self._left / LOOKS
        self._worked, self._running = 0.0, False

    def call(self, function, *arguments):
        """Call the function. Raises what the function raises, or EndlessError after the limit."""
        if self._left <= 0:
            raise EndlessError
        self._worked, trace = time.process_time(), sys.gettrace()
        # Python prints a strike that interrupts a finaliser. The hook has to be a C function, which
        # no strike can interrupt. ``id`` has no side effects.
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
            # If a strike interrupts a debugger's trace function, Python removes that function.
            if sys.gettrace() is not trace:
                sys.settrace(trace)

    def _is_over(self):
        before, self._worked = self._worked, time.process_time()
        worked = self._worked - before
        self._left -= worked if worked > ASLEEP * self._wait else self._wait
        return self._left <= 0

    def _call_with_alarm(self, function, arguments):
        def alarm(signum, frame):
            if not self._running or not _is_in_answer(frame):
                return  # the alarm is repeated
            over = self._left <= 0 or self._is_over()
            # Set one alarm at a time: a second could go to another thread and arrive too late.
            wait = CHANCE.uniform(*STRIKE_INTERVAL) if over else self._wait
            signal.setitimer(signal.ITIMER_REAL, wait, RETRY_SECONDS)
            if over:
                raise _Strike

        handler = signal.signal(signal.SIGALRM, alarm)
        timer = signal.setitimer(signal.ITIMER_REAL, 0)
        try:
            self._running = True
            signal.setitimer(signal.ITIMER_REAL, self._wait, RETRY_SECONDS)
            return _run_answer(function, arguments)
        finally:
            self._running = False  # first, so that no strike interrupts this block
            signal.setitimer(signal.ITIMER_REAL, *timer)
            signal.signal(signal.SIGALRM, handler)

    def _call_with_watcher(self, function, arguments):
        target, done = threading.get_ident(), threading.Lock()

        def watch():
            wait = self._wait
            while not done.acquire(timeout=wait):
                if self._running and (self._left <= 0 or self._is_over()):
                    wait = STRIKE_INTERVAL[0]
                    STRIKE(target, _StrikeAndPause)

        done.acquire()
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            self._running = True
            return function(*arguments)
        finally:
            self._running = False
            # One strike may still be pending.
            try:
                done.release()
                watcher.join()
            except _Strike:
                watcher.join()


def _can_use_alarms():
    """Return whether this thread can receive alarm signals."""
    main = threading.current_thread() is threading.main_thread()
    # None means that the handler was not set from Python, so it couldn't be restored.
    return main and hasattr(signal, "setitimer") and signal.getsignal(signal.SIGALRM) is not None
