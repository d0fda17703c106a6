"""What the tools say to students and audiences, from words/en.toml.

Whole pages, such as those of the site and the kit's README, are texts of their own beside this.
"""

from pathlib import Path

from rooflab.words import Words

sentence = Words(Path(__file__).with_name("words"))
