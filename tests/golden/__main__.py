"""Write the golden files anew: `python -m tests.golden`."""

from . import FOLDER, expected

for name, text in expected().items():
    (FOLDER / name).write_text(text, encoding="utf-8")
