"""Runs a submission's cells and answers probes, as ordered by the worker."""

import asyncio
import contextlib
import signal
import sys
import traceback

import roofcheck
from roofgrade.sandbox.inside import plain_values
from roofgrade.sandbox.inside.channel import Channel
from roofgrade.sandbox.inside.recorder import Recorder


class Notebook:
    """A submission's shell, which receives its orders over ``channel``."""

    def __init__(self, shell, recorder: Recorder, channel: Channel):
        self._shell, self._recorder, self._channel = shell, recorder, channel
        self._answer = plain_values.answer_probe
        roofcheck.request = self.request

    async def serve(self):
        while True:
            await self._wait_for_message()
            message = self._channel.receive()
            if "run" in message:
                reply = await self._run_source(message["run"])
            else:
                reply = self._answer_probe(message["probe"])
            self._channel.send(reply)

    def request(self, message: dict) -> dict:
        """Send the worker a request from the running cell, and return the reply."""
        # An interrupt in the middle of a message would leave the rest of it for the next read.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            self._channel.send({"ask": message})
            return self._channel.receive()["told"]
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    async def _wait_for_message(self):
        """Wait for a message while background tasks of earlier cells continue."""
        loop = asyncio.get_running_loop()
        ready = asyncio.Event()
        loop.add_reader(self._channel.connection, ready.set)
        await ready.wait()
        loop.remove_reader(self._channel.connection)

    async def _run_source(self, source):
        self._recorder.begin_cell()
        count = self._shell.execution_count
        try:
            await self._run_cell(source)
        except (Exception, KeyboardInterrupt, SystemExit) as error:
            # The shell itself raised this error: it was interrupted, or the student broke it.
            output = {"output_type": "error", "ename": type(error).__name__, "evalue": str(error)}
            self._recorder.emit(output | {"traceback": traceback.format_exception_only(error)})
        return {"outputs": self._recorder.end_cell(), "count": count}

    async def _run_cell(self, source):
        shell = self._shell
        try:
            prepared = {"transformed_cell": shell.transform_cell(source)}
        except Exception:
            prepared = {"transformed_cell": source, "preprocessing_exc_tuple": sys.exc_info()}
        if shell.should_run_async(source, **prepared):
            coroutine = shell.run_cell_async(source, store_history=True, **prepared)
            await self._await_task(asyncio.ensure_future(coroutine))
        else:
            with allow_interrupts():
                shell.run_cell(source, store_history=True)

    async def _await_task(self, task):
        loop = asyncio.get_running_loop()

        def interrupt(signum, frame):
            if asyncio.current_task(loop) is task:
                raise KeyboardInterrupt
            task.cancel()
            loop.call_soon_threadsafe(lambda: None)  # Wake the sleeping loop.

        with allow_interrupts(interrupt):
            try:
                await task
            except asyncio.CancelledError:
                raise KeyboardInterrupt from None

    def _answer_probe(self, probe):
        answer = {}
        # Reading a student's objects may raise any error.
        with contextlib.suppress(BaseException), allow_interrupts():
            answer = self._answer(self._shell.user_ns, probe)
        count = self._shell.execution_count
        self._shell.execution_count = count + 1
        return {"answer": answer, "count": count}


@contextlib.contextmanager
def allow_interrupts(handler=signal.default_int_handler):
    """Let SIGINT reach student code. At any other time it comes too late and is ignored."""
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        ignore_interrupts()


def ignore_interrupts():
    """Ignore SIGINT from here on, including one that is already pending."""
    while True:
        with contextlib.suppress(KeyboardInterrupt):
            signal.signal(signal.SIGINT, signal.SIG_IGN)
            return
