"""How many documents each eps would remove, from one comparison of their embeddings.

    python examples/dedup/embeddings.py VECTORS OUT

VECTORS holds Parquet or JSON Lines with the field `embedding`, of whatever modality. All documents
are kept with a mark, and the cosine of each with the nearest that would stay in its place is read
from the decisions: those of 1 - eps or more are what a run with that eps removes.
"""

import sys

import pyarrow.compute as pc
import pyarrow.parquet as pq
from curator_dedup import SemanticDeduplicationWorkflow
from curator_dedup.semantic.compare import ROUNDING

WIDEST = 0.2
TRIED = (0.001, 0.01, 0.05, 0.1, WIDEST)


def counts(vectors: str, out: str) -> dict[float, int]:
    """The number of duplicates by eps."""
    workflow = SemanticDeduplicationWorkflow(vectors, out, eps=WIDEST, keep="mark")
    if not workflow.run().metadata["duplicates"]:
        return dict.fromkeys(TRIED, 0)
    decisions = pq.ParquetDataset(workflow.folder("decisions")).read(["similarity"])
    similarities = decisions["similarity"].drop_null()
    least = {eps: 1 - eps - ROUNDING for eps in TRIED}  # what equals the limit counts
    return {eps: pc.sum(pc.greater_equal(similarities, least[eps])).as_py() for eps in TRIED}


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    vectors, out = sys.argv[1:]
    for eps, number in counts(vectors, out).items():
        print(f"eps {eps:<6} removes {number:,}")


if __name__ == "__main__":
    main()
