"""Judge labelled answers with Spark: ``mapInArrow`` hands each worker tables of its rows.

The answers have the columns that ``groundwire evaluate`` reads, and a ``context_id``. Run it:
``spark-submit examples/spark_map_in_arrow.py labelled.parquet results.jsonl``; then
``groundwire report results.jsonl --html report.html``, or any other command that reads results.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import monotonically_increasing_id
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructField, StructType

from groundwire import Detector
from groundwire.evaluation.datasets.lines import fingerprints
from groundwire.evaluation.judged_row import Header
from groundwire.evaluation.results_file import RowWriter
from groundwire.evaluation.scale.tables import RESULTS, judge_batch, judged_rows

MODEL = "similarity:hash"  # None is the embedded reader

_TYPES = {
    "int64": LongType(),
    "double": DoubleType(),
    "bool": BooleanType(),
    "string": StringType(),
}
SCHEMA = StructType([StructField(each.name, _TYPES[str(each.type)]) for each in RESULTS])


def judge(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What a worker does with its part: the model is loaded once for all of it."""
    with Detector.load(MODEL, threads=1) as detector:
        for batch in batches:
            yield from judge_batch(detector, pa.Table.from_batches([batch])).to_batches()


def judged(answers: DataFrame) -> DataFrame:
    """The results of answers: a row for each, what could not be checked included.

    Answers to one context go to one worker, one after the other, so that its sources are read once.
    """
    by_context = answers.repartition("context_id").sortWithinPartitions("context_id", "row")
    return by_context.mapInArrow(judge, SCHEMA)


def main(data: Path, output: Path) -> None:
    """From a Parquet file to a file of results."""
    spark = SparkSession.builder.appName("groundwire").getOrCreate()
    # Contexts are long: so many rows of them are in the memory of a worker at a time.
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "256")
    answers = spark.read.parquet(str(data))
    # Results need a number for each row, of which only matters that no two are the same.
    results = judged(answers.withColumn("row", monotonically_increasing_id() + 1))
    with Detector.load(MODEL) as detector:
        header = Header(detector=detector.info, data=fingerprints(data), command="spark-submit")
    with output.open("wb") as stream:
        writer = RowWriter(stream, header)
        for row in judged_rows(row.asDict() for row in results.toLocalIterator()):
            writer.write(row)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
