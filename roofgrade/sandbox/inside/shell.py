"""IPython as notebooks find it under a kernel, with its outputs in a recorder."""

import builtins
import getpass
import os
import zlib

import matplotlib
import matplotlib.pyplot as plt
from IPython.core.compilerop import CachingCompiler
from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.error import StdinNotImplementedError
from IPython.core.interactiveshell import InteractiveShell
from traitlets import Any, Type
from traitlets.config import Config

from roofgrade.sandbox.inside.recorder import Recorder, encode_bytes


class Publisher(DisplayPublisher):
    """Records what ``display`` shows. An ``update`` names the display it changes, of any cell."""

    recorder = Any()

    def publish(self, data, metadata=None, *, transient=None, update=False, **ignored):
        output = {
            "output_type": "update" if update else "display_data",
            "data": encode_bytes(data),
            "metadata": metadata or {},
        }
        if (transient or {}).get("display_id"):
            output["display_id"] = transient["display_id"]
        self.recorder.emit(output)

    def clear_output(self, wait=False):
        self.recorder.clear(wait)


class Hook(DisplayHook):
    """Records the value of a cell's last line."""

    recorder = Any()

    def write_output_prompt(self):
        pass

    def write_format_data(self, format_dict, md_dict=None):
        self.recorder.emit(
            {
                "output_type": "execute_result",
                "data": encode_bytes(format_dict),
                "metadata": md_dict or {},
                "execution_count": self.prompt_count,
            }
        )

    def finish_displayhook(self):
        pass


class Compiler(CachingCompiler):
    """Names the code of a cell as a kernel does, which shows in warnings and syntax errors."""

    def get_code_name(self, raw_code, transformed_code, number):
        return f"/tmp/ipykernel_{os.getpid()}/{zlib.crc32(raw_code.encode())}.py"


# Libraries know a notebook by this name of its shell.
class ZMQInteractiveShell(InteractiveShell):
    """The shell of a notebook that nobody sits at: figures inline, no input, no way to exit."""

    recorder = Any()
    compiler_class = Type(Compiler)
    system = InteractiveShell.system_piped

    def init_display_pub(self):
        super().init_display_pub()
        self.display_pub.recorder = self.recorder

    def init_displayhook(self):
        super().init_displayhook()
        self.displayhook.recorder = self.recorder

    def init_virtualenv(self):
        pass

    def ask_exit(self):
        pass

    def enable_gui(self, gui=None):
        pass

    def enable_matplotlib(self, gui=None):
        # Other backends need a browser or a screen; one that is not installed would fail the cell.
        return super().enable_matplotlib("inline")

    def _showtraceback(self, etype, evalue, stb):
        self.recorder.emit(
            {
                "output_type": "error",
                "ename": str(etype.__name__),
                "evalue": str(evalue),
                "traceback": list(stb),
            }
        )


def make_shell(recorder: Recorder) -> ZMQInteractiveShell:
    """The one shell of this process, figures inline."""
    config = Config()
    config.IPKernelApp = Config()  # by this, libraries tell a notebook
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "linux"
    shell = ZMQInteractiveShell.instance(
        config=config, display_pub_class=Publisher, displayhook_class=Hook, recorder=recorder
    )
    shell.set_hook("show_in_pager", _show_nothing, 0)
    shell.enable_matplotlib()
    matplotlib.use = plt.switch_backend = _stay_inline
    builtins.input = getpass.getpass = _no_input
    return shell


def _show_nothing(shell, data, start=0, screen_lines=0):
    """Do nothing: help has a place of its own on the screen, and none in a notebook."""


def _stay_inline(*ignored, **also_ignored):
    """Do nothing: figures stay inline, whatever is asked for."""


def _no_input(*ignored, **also_ignored):
    raise StdinNotImplementedError(
        "raw_input was called, but this frontend does not support input requests."
    )
