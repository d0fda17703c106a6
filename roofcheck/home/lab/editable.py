"""Install data files in editable mode, too. Setuptools documents this but doesn't do it."""

from setuptools.command import build_py


class BuildWithData(build_py.build_py):
    """A build command that also installs the data files in editable mode."""

    def run(self):
        super().run()
        if self.editable_mode:
            self.run_command("install_data")
