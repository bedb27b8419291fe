"""Application that runs in a virtual environment without activating it, and prints its results as JSON.

    python unactivated.py DATA_DIR

It reads, writes and streams the topic `t`. `python3` on its PATH has no Dray.
"""

import json
import sys

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import pyspark_dray


def main(data_dir: str) -> None:
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.host", "127.0.0.1").getOrCreate()
    source = spark.read.format("dray").option("data_dir", data_dir)
    try:
        source.load("t")
        undiscovered = ""
    except (Py4JError, PySparkException) as error:
        undiscovered = str(error)
    python = spark.sparkContext.pythonExec
    pyspark_dray.register(spark)
    frame = source.load("t")
    read = frame.count()
    frame.select("value").write.format("dray").option("data_dir", data_dir).mode("append").save("t")
    stream = (
        spark.readStream.format("dray").option("data_dir", data_dir).option("startingOffsets", "earliest")
    )
    query = (
        stream.load("t").writeStream.format("memory").queryName("streamed").trigger(availableNow=True).start()
    )
    query.awaitTermination()
    found = {
        "undiscovered": undiscovered,
        "read": read,
        "streamed": spark.table("streamed").count(),
        "python_is_as_before": spark.sparkContext.pythonExec == python,
    }
    spark.stop()
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1])
