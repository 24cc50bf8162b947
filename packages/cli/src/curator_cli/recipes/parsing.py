"""Parsing of untrusted YAML: plain data only, of limited size, with the line of every part."""

from typing import TYPE_CHECKING, Any

from curator_core.errors import PipelineError

from curator_cli.recipes.problems import Document, Path

if TYPE_CHECKING:
    import yaml

LARGEST_FILE = 1_000_000
MOST_NODES = 20_000
MOST_ALIASES = 200
DEEPEST = 40
LONGEST_NUMBER = 400

_TAG = "tag:yaml.org,2002:"
_TEXT = frozenset(f"{_TAG}{name}" for name in ("str", "timestamp", "value"))
_SCALARS = frozenset(f"{_TAG}{name}" for name in ("null", "bool", "int", "float"))


class _RefusedError(Exception):
    """YAML that is refused without further checks."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def parse(text: str, file: str = "<recipe>") -> Document:
    """Parse a recipe into plain data. Duplicate keys and unknown tags become problems."""
    import yaml

    try:
        if len(text) > LARGEST_FILE:
            raise _RefusedError(
                1, f"a recipe has at most {LARGEST_FILE:,} characters, not {len(text):,}"
            )
        _measure(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        return _Builder(file).build(root)
    except _RefusedError as refused:
        raise PipelineError(f"{file}:{refused.line}: {refused}") from None
    except yaml.YAMLError as error:
        raise PipelineError(f"{file}:{_line_of(error, text)}: {_describe(error, text)}") from None


def parse_value(text: str) -> Any:
    """Parse a command-line value: a number, true, false, null, [a list], {a: mapping} or text."""
    import yaml

    if text[:1] in tuple("[{\"'"):
        try:
            return parse(f"value: {text}", "value").data["value"]
        except PipelineError:
            return text
    resolver: Any = yaml.SafeLoader("")
    tag = resolver.resolve(yaml.ScalarNode, text, (True, False))
    try:
        return _scalar(yaml.ScalarNode(tag, text)) if tag in _SCALARS else text
    except ValueError:
        return text


def _measure(text: str) -> None:
    """Refuse YAML that is too large or too deep before building anything from it."""
    import yaml

    depth = nodes = aliases = 0
    events: Any = yaml.parse(text, Loader=yaml.SafeLoader)
    for event in events:
        line = event.start_mark.line + 1
        nodes += isinstance(event, yaml.NodeEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _RefusedError(line, f"nested deeper than {DEEPEST} levels")
        if nodes > MOST_NODES or aliases > MOST_ALIASES:
            limits = f"{MOST_NODES:,} values or {MOST_ALIASES} aliases"
            raise _RefusedError(line, f"a recipe has no more than {limits}")


class _Builder:
    """Turns nodes into plain data, and counts every repetition of an alias."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.places: dict[Path, int | str] = {}
        self.spoiled: set[Path] = set()
        self.problems: list[tuple[int | str, str]] = []
        self._built = 0

    def build(self, root: "yaml.Node | None") -> Document:
        import yaml

        if root is None:
            raise _RefusedError(1, "the recipe is empty")
        if not isinstance(root, yaml.MappingNode):
            raise _RefusedError(
                1, "a recipe is a mapping that begins with `name:` and has `steps:`"
            )
        data = self._value(root, ())
        self.places[()] = 1
        return Document(
            self.file,
            data if isinstance(data, dict) else {},
            self.places,
            frozenset(self.spoiled),
            tuple(self.problems),
        )

    def _value(self, node: "yaml.Node", path: Path) -> Any:
        import yaml

        line = node.start_mark.line + 1
        self.places.setdefault(path, line)
        self._built += 1
        if self._built > MOST_NODES or len(path) > DEEPEST:
            raise _RefusedError(line, "its aliases repeat themselves without end, or nearly so")
        if isinstance(node, yaml.MappingNode) and node.tag == f"{_TAG}map":
            return self._read_mapping(node, path)
        if isinstance(node, yaml.SequenceNode) and node.tag == f"{_TAG}seq":
            return [self._value(item, (*path, at)) for at, item in enumerate(node.value)]
        if isinstance(node, yaml.ScalarNode) and node.tag in _TEXT | _SCALARS:
            try:
                return _scalar(node)
            except ValueError as error:
                return self._spoil(path, line, str(error))
        return self._spoil(path, line, f"the tag {_tag(node)} is not allowed in a recipe")

    def _read_mapping(self, node: "yaml.MappingNode", path: Path) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = self._key(key_node, path)
            if key is None:
                continue
            line = key_node.start_mark.line + 1
            if key in found:
                first = self.places[(*path, key)]
                self.problems.append((line, f"{key!r} stands here a second time; see line {first}"))
                continue
            self.places[(*path, key)] = line
            found[key] = self._value(value_node, (*path, key))
        return found

    def _key(self, node: "yaml.Node", path: Path) -> str | None:
        """Return the key as written: `on` stays `on` and does not become true."""
        import yaml

        line = node.start_mark.line + 1
        if isinstance(node, yaml.ScalarNode) and node.tag in _TEXT | _SCALARS:
            return str(node.value)
        if isinstance(node, yaml.ScalarNode) and node.tag == f"{_TAG}merge":
            self.problems.append((line, "merge keys (<<) are not allowed; write the options out"))
        else:
            self.problems.append((line, f"a key must be text, but this is {_tag(node)}"))
        self.spoiled.add(path)
        return None

    def _spoil(self, path: Path, line: int, text: str) -> None:
        self.problems.append((line, text))
        self.spoiled.add(path)


def _scalar(node: "yaml.ScalarNode") -> Any:
    from yaml.constructor import SafeConstructor

    text: str = node.value
    if node.tag in _TEXT:
        return text
    constructor = SafeConstructor()
    kind = node.tag.removeprefix(_TAG)
    try:
        if len(text) > LONGEST_NUMBER:
            raise ValueError
        return getattr(constructor, f"construct_yaml_{kind}")(node)
    except (ValueError, KeyError, IndexError, OverflowError):
        raise ValueError(f"{text[:40]!r} is not a valid {kind}") from None


def _tag(node: "yaml.Node") -> str:
    return str(node.tag).replace(_TAG, "!!")[:80]


def _line_of(error: "yaml.YAMLError", text: str) -> int:
    from yaml.reader import ReaderError

    begins, stands = getattr(error, "context_mark", None), getattr(error, "problem_mark", None)
    is_about_beginning = _lacks_colon(error) or "quoted scalar" in str(error)
    mark = (begins if is_about_beginning else stands) or begins
    if mark is not None:
        return int(mark.line) + 1
    position = error.position if isinstance(error, ReaderError) else 0
    return text.count("\n", 0, position) + 1


def _lacks_colon(error: "yaml.YAMLError") -> bool:
    return getattr(error, "problem", None) == "could not find expected ':'"


_PLAINLY = {
    "'\\t'": "a tab stands here, but YAML is indented with spaces only",
    "scanning an alias, expected": "a value that begins with * needs quotes",
    "'@'": "a value that begins with @ needs quotes",
    "'%'": "a value that begins with % needs quotes",
    "'`'": "a value that begins with ` needs quotes",
    "expected <block end>": "this is not indented like the lines above that it belongs to",
    "mapping values are not allowed": "a value with a colon and a space in it needs quotes",
    "unexpected end of stream": "a quote that begins here is never closed",
    "but got '<stream end>'": "a bracket above is never closed",
    "<document start>": "not a recipe: a recipe is YAML with `input:`, `steps:` and `output:`",
}
"""Parts of the parser's messages for common mistakes, and the message to show instead."""


def _describe(error: "yaml.YAMLError", text: str) -> str:
    if _lacks_colon(error):
        line = text.splitlines()[_line_of(error, text) - 1].strip()
        return f"{line[:60]!r} has no colon followed by a space; write `key: value`"
    parts = [getattr(error, "context", None), getattr(error, "problem", None)]
    problem = ", ".join(part for part in parts if part) or getattr(error, "reason", "") or "no YAML"
    plain = next((plain for sign, plain in _PLAINLY.items() if sign in problem), None)
    return plain or f"invalid YAML: {problem}"
