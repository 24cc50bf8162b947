import gzip
import io
import tarfile
import time
from pathlib import Path

import pytest
from curator_core import Empty
from curator_core.testing import StageRun, check_stage, run_stages
from curator_text import ArxivReader
from curator_text.readers.arxiv import UnusablePaperError, clean_latex, extract_latex


def tar(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return target.getvalue()


MAIN = rb"\documentclass{article}\begin{document}A \input{parts/b} C\end{document}"
PARTS = {"main.tex": MAIN, "parts/b.tex": b"B % secret", "../../etc/x.tex": b"evil", "a.eps": b"x"}
ARCHIVE = tar(
    {
        "2301/2301.00001.gz": gzip.compress(tar(PARTS)),
        "2301/2301.00002.gz": gzip.compress(rb"\section{One} file"),
        "2301/2301.00003.pdf": b"%PDF-1.4",
        "2301/2301.00004.gz": gzip.compress(b"%PDF-1.4"),
        "2301/2301.00005.gz": gzip.compress(b"\0" * 5_000_000),
        "2301/2301.00006.gz": b"\x1f\x8b\x08 nothing",
        "2301/2301.00007.gz": gzip.compress(tar({"a.txt": b"no"})),
    }
)


def read(path: Path, **options: object) -> StageRun:
    reader = ArxivReader(str(path), **options)  # type: ignore[arg-type]
    return run_stages([reader], [Empty()], on_error="quarantine")


def test_papers_without_latex_are_dropped_with_a_reason(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(ARCHIVE)
    run = read(path, max_paper_bytes="1MB")
    assert [row for task in run.outputs for row in task.data.to_pylist()] == [
        {"paper_id": "2301.00001", "text": "A B  C"},
        {"paper_id": "2301.00002", "text": r"\section{One} file"},
    ]
    reasons = {"PDF only": 2, "larger than max_paper_bytes": 1, "no LaTeX in it": 1}
    assert dict(run.report.of(1).reasons) == reasons
    [bad] = run.report.quarantined
    assert bad.where == f"{path} member '2301/2301.00006.gz'"
    assert not (tmp_path.parent / "etc").exists()


def test_reader_fulfills_the_stage_contract(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar({"1.gz": gzip.compress(MAIN)}))
    check_stage(ArxivReader(str(tmp_path)), Empty())


def test_truncated_archive_keeps_complete_papers(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    data = tar({"1.gz": gzip.compress(MAIN), "2.tex": rb"\x " * 5000})
    path.write_bytes(data[:5000])
    run = read(path)
    assert [row["paper_id"] for task in run.outputs for row in task.data.to_pylist()] == ["1"]
    [bad] = run.report.quarantined
    assert bad.reason.startswith("the archive is damaged: ")


def test_other_files_are_refused_by_path(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(gzip.compress(b"WARC/1.0\r\nWARC-Type: warcinfo\r\n"))
    [bad] = read(path).report.quarantined
    assert f"cannot read {path}: " in bad.reason


def test_files_that_include_each_other_terminate() -> None:
    files = {"a.tex": rb"\documentclass x \input{b}\input{b}", "b.tex": rb"\input{a}" * 60}
    with pytest.raises(UnusablePaperError, match="larger than max_paper_bytes"):
        extract_latex(gzip.compress(tar(files)), 100_000)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("a % note\nb", "a b"),
        (r"50\% of it", r"50\% of it"),
        ("\\\\% note\nb", "\\\\b"),
        (
            r"\newcommand{\R}{real line}\begin{document}the \R, \Rx\end{document}",
            r"the real line, \Rx",
        ),
        (r"\def\eps{small}\begin{document}\eps\end{document}", "small"),
        (r"a \begin{thebibliography}{9} \bibitem x \end{thebibliography} b", "a  b"),
        (r"a \begin{references} \bibitem x \end{references} b", "a  b"),
        (r"a \begin{references} \bibitem x", "a"),
        (r"a \begin{REFERENCES} \bibitem x", "a"),
        (r"a \bibliographystyle{x}\bibliography{refs}", "a"),
        (r"\begin{document} never closed", "never closed"),
        (r"\newcommand{\a}{\b}\newcommand{\b}{\a}\begin{document}\a\end{document}", r"\b"),
    ],
)
def test_clean_latex(source: str, text: str) -> None:
    assert clean_latex(source) == text


@pytest.mark.parametrize(
    "mark", ["%", "\\", "\\newcommand{", "\\def\\a{", "{", "\n ", "\\begin{document}"]
)
def test_time_is_linear_in_the_length(mark: str) -> None:
    begun = time.process_time()
    clean_latex(mark * 100_000)
    assert time.process_time() - begun < 5
