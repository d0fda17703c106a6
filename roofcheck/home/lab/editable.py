"""Install data files in editable mode too, which setuptools documents but doesn't do."""

from setuptools.command import build_py


class BuildWithData(build_py.build_py):
    """Also installs the data files in editable mode."""

    def run(self):
        super().run()
        if self.editable_mode:
            self.run_command("install_data")
