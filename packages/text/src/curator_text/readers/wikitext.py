"""Wikitext: convert to plain text, without templates, tables, references and pictures.

A single pass with a stack: time grows linearly with length, even if markup is never closed or
nested a million times.
"""

import html
import re

_MAX_DEPTH = 40

_TAGS = "ref|gallery|math|timeline|score|nowiki|pre|syntaxhighlight|source"
_MARKUP = re.compile(
    r"<!--|-->|\{{2,}|\|?\}+|\{\||\[\[|\]\]"
    rf"|<(?:references|{_TAGS})\b[^<>]{{0,500}}/>"
    rf"|<(?P<open>{_TAGS})\b[^<>]{{0,500}}>"
    rf"|</(?P<close>{_TAGS})\s{{0,9}}>",
    re.I,
)
_CLOSING = {"<!--": "-->", "{|": "|}", "[[": "]]"}
_TEMPLATE, _PARAMETER = "}}", "}}}"
_VERBATIM = frozenset({"nowiki", "pre", "syntaxhighlight", "source"})
"""Tags whose content is shown as written, without parsing markup."""

_CODE = frozenset({"syntaxhighlight", "source"})
_KEPT = re.compile("\x02([0-9]{1,9})\x03")
"""Placeholder for text that is restored unchanged at the end."""

_PICTURES = frozenset("""
    file image media category datei bild kategorie fichier catégorie archivo imagen categoría
    файл изображение категория immagine categoria bestand afbeelding categorie plik grafika
    kategoria ficheiro imagem 文件 分类 ファイル 画像 カテゴリ
""".split())  # fmt: skip  # noqa: SIM905 - a list of a line each would hide the rest
_LANGUAGE = re.compile(r"[a-z]{2,3}(?:-[a-z]{2,8})?")
_EXTERNAL = re.compile(r"\[(?:https?:)?//[^\s\[\]]{1,2000}+ ?([^\[\]\n]{0,2000}+)\]")
_BREAK = re.compile(r"<br\s{0,9}/?>", re.I)
_TAG = re.compile(r"</?[a-z][^<>]{0,500}>", re.I)
_QUOTES = re.compile(r"'{2,5}")
_SWITCH = re.compile(r"__[A-Z]{3,30}__")
_BLANK_LINES = re.compile(r"\n{3,}")


def wikitext_to_text(wikitext: str) -> str:
    kept: list[str] = []
    text = _remove_markup(wikitext.replace("\x02", ""), kept)
    text = _EXTERNAL.sub(r"\1", text)
    text = _TAG.sub("", _BREAK.sub("\n", text))
    text = html.unescape(_SWITCH.sub("", _QUOTES.sub("", text)))
    lines = map(_strip_line, text.replace("\xa0", " ").split("\n"))
    text = _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip()
    return _KEPT.sub(lambda found: kept[int(found[1])], text) if kept else text


def _remove_markup(text: str, kept: list[str]) -> str:
    """Remove markup. Unclosed markup is kept as text, without its opening mark."""
    stack = _MarkupStack(kept)
    end = 0
    for match in _MARKUP.finditer(text):
        stack.frames[-1][1].append(text[end : match.start()])
        end = match.end()
        stack.handle(match)
    stack.frames[-1][1].append(text[end:])
    return "".join(piece for _, pieces in stack.frames for piece in pieces)


class _MarkupStack:
    """A stack of open marks: for each, the mark that closes it and the text inside."""

    def __init__(self, kept: list[str]) -> None:
        self.frames: list[tuple[str, list[str]]] = [("", [])]
        self._kept = kept

    def handle(self, match: re.Match[str]) -> None:
        token = match[0]
        opened, closed = match["open"], match["close"]
        closer = self.frames[-1][0]
        if closer in _VERBATIM or closer == "-->":  # markup is ignored in here
            if (closed.lower() if closed else token) == closer:
                self._close()
            elif closer in _VERBATIM:
                self.frames[-1][1].append(token)
        elif "}" in token:
            self._close_braces(token)
        elif (closed.lower() if closed else token) == closer:
            self._close()
        elif opened or token in _CLOSING:
            self._open(opened.lower() if opened else _CLOSING[token])
        elif token.startswith("{{"):
            self._open_braces(len(token))

    def _open(self, closer: str) -> None:
        if len(self.frames) <= _MAX_DEPTH:
            self.frames.append((closer, []))

    def _open_braces(self, count: int) -> None:
        """Open braces: three start a parameter; of five, the outer two start a template."""
        while count >= 2 and len(self.frames) <= _MAX_DEPTH:
            size = 3 if count in (3, 6) else 2
            self._open(_PARAMETER if size == 3 else _TEMPLATE)
            count -= size

    def _close_braces(self, token: str) -> None:
        """Close tables, templates and parameters; single braces are text."""
        count = token.count("}")
        closer = self.frames[-1][0]
        if token.startswith("|"):
            if closer == "|}":
                self._close()
                count -= 1
            else:
                self.frames[-1][1].append("|")
        while count >= 2 and self.frames[-1][0] in (_TEMPLATE, _PARAMETER):
            count -= min(count, len(self.frames[-1][0]))
            self._close()
        if count == 1:
            self.frames[-1][1].append("}")

    def _close(self) -> None:
        closer, pieces = self.frames.pop()
        inside = "".join(pieces)
        shown = ""
        if closer == "]]":
            shown = _link_text(inside)
        elif closer == _PARAMETER:
            shown = inside.partition("|")[2]  # the parameter's default
        elif closer in _VERBATIM:
            self._kept.append(inside.strip("\n") if closer in _CODE else html.unescape(inside))
            shown = f"\x02{len(self._kept) - 1}\x03"
        self.frames[-1][1].append(shown)


def _link_text(inside: str) -> str:
    """Return a link's visible text: empty for pictures, categories and pages in other languages."""
    target, _, shown = inside.partition("|")
    space, colon, _ = target.partition(":")
    if colon and (space.strip().lower() in _PICTURES or _LANGUAGE.fullmatch(space)):
        return ""
    return shown.rpartition("|")[2] or target.lstrip(":").partition("#")[0] or target.lstrip("#")


def _strip_line(line: str) -> str:
    line = line.strip()
    if line.startswith("=") and line.endswith("="):
        return line.strip("= ")
    return line.lstrip("*#:;").lstrip()
