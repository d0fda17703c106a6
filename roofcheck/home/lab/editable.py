"""setuptools leaves data files out of an editable installation, against its own documentation."""

from setuptools.command import build_py


class BuildWithData(build_py.build_py):
    """Brings the data files along where the package itself is only pointed at."""

    def run(self):
        super().run()
        if self.editable_mode:
            self.run_command("install_data")
