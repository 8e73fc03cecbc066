"""Two experiments on a Ray of their own."""

import tempfile
from pathlib import Path

from evenhand.lab import execute, from_dict

if __name__ == "__main__":
    folder = Path(tempfile.mkdtemp())
    rows = ["a,b", *(f"{i % 17},{(3 * i) % 17 + 0.5}" for i in range(60))]
    (folder / "numbers.csv").write_text("\n".join(rows))
    runs = {"methods": ["sum", "imtlg"], "seeds": [0], "kl_weights": [1.0]}
    configs = [
        from_dict(
            {
                "experiment": "table",
                "data": {"path": str(folder / "numbers.csv")},
                "training": {"epochs": epochs, "checks": 1},
                "runs": runs,
            }
        )
        for epochs in (1, 2)
    ]
    done = execute(configs, folder / "runs", executor="ray", workers=1, device="cpu")
    assert [run.state for run in done] == ["done", "done"]
