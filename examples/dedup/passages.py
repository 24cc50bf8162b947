"""Boilerplate and copied passages cut out of pages.

    python examples/dedup/passages.py PAGES OUT

PAGES holds JSON Lines or Parquet with the field `text`. Lines that stand in three places or more
are menus and footers, and go wherever they are. Then passages of 30 words or more that stand in
several pages stay in the first of them only. Pages with fewer than 20 words left are left out.
"""

import sys

from curator_dedup import LineDeduplicationWorkflow, SubstringDeduplicationWorkflow

LEAST_WORDS = 20


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    pages, out = sys.argv[1:]
    lines = LineDeduplicationWorkflow(
        pages, f"{out}/lines", min_count=3, keep="none", min_words=LEAST_WORDS
    ).run()
    passages = SubstringDeduplicationWorkflow(
        f"{out}/lines", f"{out}/passages", min_tokens=30, min_words=LEAST_WORDS
    ).run()
    print(f"{lines.metadata['documents']:,} pages")
    print(f"{lines.metadata['repeated']:,} lines stood three times or more")
    print(f"{lines.metadata['emptied'] + passages.metadata['emptied']:,} pages were left out")


if __name__ == "__main__":
    main()
