"""The example of an exchange runs as documented."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pyarrow.parquet as pq
from cpukit import one_cpu

EXAMPLE = Path(__file__).parents[2] / "examples/dedup/domains.py"


def test_example_counts_domains_over_all_files(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    raw.mkdir()
    wanted: Counter[str] = Counter()
    for place in range(4):
        domains = [f"d{(n * n + place) % 29}.org" for n in range(200)]
        wanted.update(domains)
        lines = (json.dumps({"url": f"https://{domain}/{place}"}) for domain in domains)
        (raw / f"{place}.jsonl").write_text("\n".join(lines))
    command = [sys.executable, str(EXAMPLE), str(raw), str(tmp_path / "out")]
    with one_cpu():
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    rows = pq.ParquetDataset(tmp_path / "out/counts").read().to_pylist()
    assert {row["domain"]: row["documents"] for row in rows} == wanted
    assert len(rows) == len(wanted)
    printed = [line.split() for line in done.stdout.splitlines()]
    best = sorted(wanted.items(), key=lambda one: (-one[1], one[0]))[:10]
    assert printed == [[f"{documents:,}", domain] for domain, documents in best]
    with one_cpu():
        again = subprocess.run(command, check=True, capture_output=True, text=True)
    assert again.stdout == done.stdout
