"""IPython as in a Jupyter kernel, with its outputs sent to a recorder."""

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


def _do_nothing(*ignored, **also_ignored):
    """Replace functions that are useless in an unattended notebook."""


class Publisher(DisplayPublisher):
    """Records what ``display`` shows. An ``update`` may change a display from any earlier cell."""

    recorder = Any()

    def publish(self, data, metadata=None, *, transient=None, update=False, **ignored):
        output = {"data": encode_bytes(data), "metadata": metadata or {}}
        output["output_type"] = "update" if update else "display_data"
        if (transient or {}).get("display_id"):
            output["display_id"] = transient["display_id"]
        self.recorder.emit(output)

    def clear_output(self, wait=False):
        self.recorder.clear(wait)


class Hook(DisplayHook):
    """Records the value of a cell's last line."""

    recorder = Any()
    write_output_prompt = finish_displayhook = _do_nothing

    def write_format_data(self, format_dict, md_dict=None):
        output = {"output_type": "execute_result", "data": encode_bytes(format_dict)}
        output |= {"metadata": md_dict or {}, "execution_count": self.prompt_count}
        self.recorder.emit(output)


class Compiler(CachingCompiler):
    """Names a cell's code as a kernel does, for warnings and syntax errors."""

    def get_code_name(self, raw_code, transformed_code, number):
        return f"/tmp/ipykernel_{os.getpid()}/{zlib.crc32(raw_code.encode())}.py"


# Libraries recognise a notebook by this name of its shell.
class ZMQInteractiveShell(InteractiveShell):
    """The shell of an unattended notebook. Figures are inline, and input and exit do nothing."""

    recorder = Any()
    compiler_class = Type(Compiler)
    system = InteractiveShell.system_piped
    init_virtualenv = ask_exit = enable_gui = _do_nothing

    def init_display_pub(self):
        super().init_display_pub()
        self.display_pub.recorder = self.recorder

    def init_displayhook(self):
        super().init_displayhook()
        self.displayhook.recorder = self.recorder

    def enable_matplotlib(self, gui=None):
        # Other backends need a browser or a screen, or may not be installed.
        return super().enable_matplotlib("inline")

    def _showtraceback(self, etype, evalue, stb):
        error = {"ename": str(etype.__name__), "evalue": str(evalue), "traceback": list(stb)}
        self.recorder.emit({"output_type": "error"} | error)


def make_shell(recorder: Recorder) -> ZMQInteractiveShell:
    """Make the one shell of this process."""
    config = Config()
    config.IPKernelApp = Config()  # Libraries recognise a notebook by this.
    config.HistoryManager.enabled = False
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "linux"
    hooks = {"display_pub_class": Publisher, "displayhook_class": Hook}
    shell = ZMQInteractiveShell.instance(config=config, recorder=recorder, **hooks)
    shell.set_hook("show_in_pager", _do_nothing, 0)
    shell.enable_matplotlib()
    matplotlib.use = plt.switch_backend = _do_nothing
    builtins.input = getpass.getpass = _no_input
    return shell


def _no_input(*ignored, **also_ignored):
    message = "raw_input was called, but this frontend does not support input requests."
    raise StdinNotImplementedError(message)
