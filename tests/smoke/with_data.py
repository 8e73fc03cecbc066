"""A file with holes and types, and a data set that needs no download."""

import tempfile
from pathlib import Path

from evenhand import Schema, TabularVAE
from evenhand.datasets import NAMES, digits_in_three
from evenhand.tables import read_file, write_file

rows = ["age,home,joined"]
rows += [f"{20 + i % 50},{'own' if i % 50 > 25 else 'rent'},2020-01-{i % 28 + 1:02}" for i in range(80)]
rows[5] = ",own,"
path = Path(tempfile.mkdtemp()) / "people.csv"
path.write_text("\n".join(rows))

frame = read_file(path).frame
print(Schema.infer(frame).explain())
filled = TabularVAE(max_epochs=2, method="sum", kl_weight=1.0, n_draws=4, random_state=0).fit_transform(frame)
assert not filled.isna().any().any()
write_file(filled, path.with_suffix(".parquet"))
assert read_file(path.with_suffix(".parquet")).frame.shape == frame.shape

assert len(NAMES) == 12
assert len(digits_in_three("test")) > 0
