"""The example for Spark, on this machine."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pa: Any = pytest.importorskip("pyarrow", reason="needs the eval extra")
pytest.importorskip("pyspark", reason="needs pyspark")
from pyarrow import parquet  # noqa: E402

from groundwire.evaluation.datasets.files import read_labelled  # noqa: E402
from groundwire.evaluation.evaluation import Evaluation  # noqa: E402
from groundwire.evaluation.loading import load_detector  # noqa: E402
from groundwire.evaluation.results_file import read_judged  # noqa: E402
from groundwire.evaluation.run import run  # noqa: E402
from tests.evaluation.scale.data import CHOICE, generated, header  # noqa: E402

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java"),
]

EXAMPLE = Path(__file__).parents[3] / "examples" / "spark_map_in_arrow.py"
#: A bound on how long Spark may take here; it takes a tenth of it.
PATIENCE_S = 300
#: Two workers, and nothing that can be reached from elsewhere.
SUBMIT = "--master local[2] --conf spark.ui.enabled=false pyspark-shell"


def test_the_example_gives_the_numbers_of_one_process(tmp_path: Path) -> None:
    data, output = tmp_path / "data.parquet", tmp_path / "results.jsonl"
    rows = [
        {name: value for name, value in row.items() if name not in ("note", "label")}
        | {"label": str(row.get("label")), "sources": row.get("sources")}
        for row in generated(60)
        if row["id"] not in ("g5", "g7")
    ]
    rows[9] |= {"sources": None}
    parquet.write_table(pa.Table.from_pylist(rows), data)
    done = subprocess.run(
        [sys.executable, EXAMPLE, data, output],
        env={
            **os.environ,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_SUBMIT_ARGS": SUBMIT,
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    alone = tmp_path / "alone.jsonl"
    run(load_detector(CHOICE), read_labelled(data), output=alone, header=header())
    assert sorted(row.row for row in read_judged(output)) == list(range(1, len(rows) + 1))
    on_spark, here = (Evaluation.read(path).to_dict() for path in (output, alone))
    for name in ("n", "n_failed", "example", "tasks", "labels", "calibration", "coverage"):
        assert on_spark[name] == here[name]
