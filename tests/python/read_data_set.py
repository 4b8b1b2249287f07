"""Reads a data set of `foretell sweep` with the packages that people use: they must agree.

Usage: read_data_set.py DIR ROWS
"""

import json
import sys
from pathlib import Path

import datasets
import duckdb
import pandas
import polars
import pyarrow.parquet


def main(directory: Path, rows: int) -> None:
    content = json.loads((directory / "content.json").read_text())
    files = [file for file in content["files"] if file["table"] == "runs"]
    paths = [str(directory / file["path"]) for file in files]
    assert sum(file["rows"] for file in files) == rows

    frame = pandas.concat([pandas.read_parquet(path) for path in paths])
    assert len(frame) == rows
    assert sorted(frame["run_id"]) == list(range(rows))
    assert str(frame["access_bytes"].dtype) == "int64"
    assert str(frame["load_throughput_rps"].dtype) == "float64"
    total = frame["load_requests"].sum()

    assert polars.scan_parquet(paths).select(polars.col("load_requests").sum()).collect().item() == total
    query = f"SELECT sum(load_requests) FROM '{directory}/data/*.parquet'"
    assert duckdb.sql(query).fetchall()[0][0] == total

    # as anybody would: the card says which files are which split
    loaded = datasets.load_dataset(str(directory))
    assert sum(split.num_rows for split in loaded.values()) == rows
    assert sum(sum(split["load_requests"]) for split in loaded.values()) == total
    for name, split in loaded.items():
        assert set(split["split"]) == {name}, name
    # no design point is in two splits
    points = [set(split["point"]) for split in loaded.values()]
    assert sum(map(len, points)) == len(set.union(*points))
    requests = datasets.load_dataset(str(directory), "requests")
    assert all(response > 0 for split in requests.values() for response in split["response_time_ms"])

    # records join the requests that caused them, and the names of their hosts
    disk, asked, hosts = (
        pandas.concat(pandas.read_parquet(path) for path in sorted((directory / table).glob("*.parquet")))
        for table in ("records_disk_op", "requests", "hosts")
    )
    disk = disk.merge(hosts, on=["run_id", "host"], validate="many_to_one")
    assert set(disk["kind"]) == {"node"} and disk["name"].str.startswith("brick").all()
    joined = disk.merge(asked, on=["run_id", "breadcrumb"], suffixes=("_disk", ""), validate="many_to_one")
    assert len(joined) > rows
    # an operation is issued after its request
    assert (joined["ts_ns"] >= joined["issued_ns"]).all()

    # columns explain themselves, to Arrow and to readers of Parquet alone
    schema = pyarrow.parquet.read_schema(paths[0])
    meta = schema.field("load_response_time_p99_ms").metadata
    assert meta[b"unit"] == b"milliseconds" and b"99 %" in meta[b"description"], meta
    told = duckdb.sql(
        f"SELECT value FROM parquet_kv_metadata('{paths[0]}') WHERE key = 'columns'"
    ).fetchall()[0][0]
    assert len(json.loads(told)) == len(frame.columns)

    croissant = json.loads((directory / "croissant.json").read_text())
    fields = next(r for r in croissant["recordSet"] if r["name"] == "runs")["field"]
    assert [field["name"] for field in fields] == list(frame.columns)
    print(f"pandas, Polars, DuckDB and datasets agree on {rows} rows")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
