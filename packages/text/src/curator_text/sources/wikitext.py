"""Wikitext: what a reader of a page sees, without templates, tables, references and pictures.

One walk over the marks in the text, with a stack: the time grows with the length, also where marks
are never closed or nested a million times.
"""

import html
import re

_DEEPEST = 40

_MARKS = re.compile(
    r"<!--|-->|\{\{|\}\}|\{\||\|\}|\[\[|\]\]"
    r"|<(?:ref|references|gallery|math|timeline|score)\b[^<>]{0,500}/>"
    r"|<(?P<open>ref|gallery|math|timeline|score|syntaxhighlight|source)\b[^<>]{0,500}>"
    r"|</(?P<close>ref|gallery|math|timeline|score|syntaxhighlight|source)\s{0,9}>",
    re.I,
)
_CLOSING = {"<!--": "-->", "{{": "}}", "{|": "|}", "[[": "]]"}
_PICTURES = frozenset("""
    file image media category datei bild kategorie fichier catégorie archivo imagen categoría
    файл изображение категория immagine categoria bestand afbeelding categorie plik grafika
    kategoria ficheiro imagem 文件 分类 ファイル 画像 カテゴリ
""".split())  # fmt: skip  # noqa: SIM905 - a list of a line each would hide the rest
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,8})?")
_EXTERNAL = re.compile(r"\[(?:https?:)?//[^\s\[\]]{1,2000} ?([^\[\]\n]{0,2000})\]")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.I)
_TAG = re.compile(r"</?[a-z][^<>]{0,500}>", re.I)
_QUOTES = re.compile(r"'{2,5}")
_SWITCH = re.compile(r"__[A-Z]{3,30}__")
_BLANK_LINES = re.compile(r"\n{3,}")


def plain_text(wikitext: str) -> str:
    text = _without_marks(wikitext)
    text = _EXTERNAL.sub(r"\1", text)
    text = _TAG.sub("", _BREAK.sub("\n", text))
    text = html.unescape(_SWITCH.sub("", _QUOTES.sub("", text)))
    lines = map(_line, text.replace("\xa0", " ").split("\n"))
    return _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()


def _without_marks(text: str) -> str:
    """What is never closed is text, without the mark that opened it."""
    frames: list[tuple[str, list[str]]] = [("", [])]
    end = 0
    for mark in _MARKS.finditer(text):
        frames[-1][1].append(text[end : mark.start()])
        end = mark.end()
        _take(frames, mark)
    frames[-1][1].append(text[end:])
    return "".join(piece for _, pieces in frames for piece in pieces)


def _take(frames: list[tuple[str, list[str]]], mark: re.Match[str]) -> None:
    said = mark[0]
    opened, closed = mark["open"], mark["close"]
    awaited = frames[-1][0]
    if (closed.lower() if closed else said) == awaited:
        _, pieces = frames.pop()
        if awaited == "]]":
            frames[-1][1].append(_link("".join(pieces)))
    elif awaited == "-->":  # marks in a comment mean nothing
        return
    elif (opened or said in _CLOSING) and len(frames) <= _DEEPEST:
        frames.append((opened.lower() if opened else _CLOSING[said], []))
    elif said == "|}" and awaited == "}}":  # an empty last value of a template: {{a|b=|}} is split
        frames[-1][1].append(said)


def _link(inside: str) -> str:
    """What a link shows: nothing for pictures, categories and pages of other languages."""
    target, _, shown = inside.partition("|")
    space, colon, _ = target.partition(":")
    if colon and (space.strip().lower() in _PICTURES or _LANGUAGE.fullmatch(space)):
        return ""
    return shown.rpartition("|")[2] or target.lstrip(":").partition("#")[0] or target.lstrip("#")


def _line(line: str) -> str:
    line = line.strip()
    if line.startswith("=") and line.endswith("="):
        return line.strip("= ")
    return line.lstrip("*#:;").lstrip()
