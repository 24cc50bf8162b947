"""Pages of many kinds: good ones, and what a crawl brings along. Each kind has one writer."""

from collections.abc import Callable

from corpus.drawing import Dice, English, Foreign

MENU = "Home | News | About us | Contact | Search"
FOOTER = "Printed for the readers of this site. All rights reserved."


class Pages:
    """Writes the text of a page of any kind."""

    def __init__(self, dice: Dice) -> None:
        self._dice = dice
        self._english = English(dice)
        self._foreign = {code: Foreign(code, dice) for code in ("de", "fr", "es", "ru", "zh")}

    def write(self, kind: str) -> str:
        return _WRITERS[kind](self)

    def good(self) -> str:
        """An article, on some sites with a menu above it and a line below."""
        parts = [self._english.paragraph() for _ in range(self._dice.between(3, 6))]
        chance = self._dice.number()
        if chance < 0.5:
            parts.insert(0, self._english.title())
        if chance < 0.2:
            parts = [MENU, *parts, FOOTER]
        return self._as_served("\n\n".join(parts))

    def edited(self, text: str) -> str:
        """The same page again, as another site would have it: a near duplicate."""
        paragraphs = text.split("\n\n")
        chance = self._dice.number()
        if chance < 0.4:
            words = text.split(" ")
            words[self._dice.below(len(words))] = self._english.noun()
            return " ".join(words)
        if chance < 0.7:
            return "\n\n".join(
                [*paragraphs, f"First seen on the pages of {self._english.thing()}."]
            )
        return "\n\n".join([self._english.title(), *paragraphs])

    def foreign(self) -> str:
        language = self._foreign[self._dice.one_of(tuple(self._foreign))]
        return "\n\n".join(language.paragraph() for _ in range(self._dice.between(2, 5)))

    def short(self) -> str:
        return self._dice.one_of(
            (
                "The page that you are looking for is not here. It may have been moved.",
                "This account has been closed by the owner of the site.",
                f"There is nothing in this list yet. Be the first to write about {self._a()}.",
            )
        )

    def script_required(self) -> str:
        return (
            "JavaScript is required to view this page. Please enable JavaScript in the settings of "
            f"your browser and load the page about {self._a()} again."
        )

    def navigation(self) -> str:
        lines = [
            f"All about {self._a()} and {self._a()}" for _ in range(self._dice.between(12, 40))
        ]
        return "\n".join([MENU, *lines, "Next page"])

    def keyword_spam(self) -> str:
        nouns = [self._english.noun() for _ in range(6)]
        lines = [
            f"best {self._dice.one_of(nouns)} for the {self._dice.one_of(nouns)} in "
            f"{self._english.noun()} to buy with a {self._dice.one_of(nouns)} {number}"
            for number in range(self._dice.between(10, 40))
        ]
        return "\n".join(lines)

    def symbol_soup(self) -> str:
        rows = [f"|~*~| {self._a()} ~~>> {self._a()} <<~~ *=*" for _ in range(12)]
        return ".\n".join(rows) + "."

    def tag_cloud(self) -> str:
        return " ".join(f"# {self._a()} ..." for _ in range(self._dice.between(25, 60))) + "."

    def lorem_ipsum(self) -> str:
        filler = (
            "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor "
            "incididunt ut labore et dolore magna aliqua."
        )
        return "\n\n".join([self._english.title(), filler, *self._paragraphs(3)])

    def cookie_notice(self) -> str:
        notices = [
            f"This website uses cookies to remember {self._a()} and to improve it for you.",
            f"Read the privacy policy before you tell us of {self._a()}.",
            f"By going on you accept our terms of use for {self._a()} and the services with it.",
        ]
        return "\n\n".join([*notices, self._english.paragraph()])

    def repeated_lines(self) -> str:
        lines = [self._english.sentence() for _ in range(4)]
        return "\n".join(lines * self._dice.between(6, 15))

    def figures(self) -> str:
        lines = [
            f"In the year {1900 + self._dice.below(120)} it was {self._dice.below(10**9):09d} of "
            f"{self._dice.below(10**9):09d} in {self._a()}."
            for _ in range(self._dice.between(10, 30))
        ]
        return "\n".join(lines)

    def link_list(self) -> str:
        noun = self._english.noun
        lines = [
            f"The {noun()} of the {noun()} is at https://www.{noun()}-{noun()}.example/{noun()}."
            for _ in range(self._dice.between(12, 30))
        ]
        return "\n".join(lines)

    def codes(self) -> str:
        lines = [
            f"The key to {self._a()} is {self._code()}." for _ in range(self._dice.between(12, 30))
        ]
        return "\n".join(lines)

    def shouting(self) -> str:
        return "\n\n".join(self._paragraphs(3)).upper()

    def _a(self) -> str:
        return self._english.thing()

    def _code(self) -> str:
        return "".join(chr(97 + self._dice.below(26)) for _ in range(72))

    def _paragraphs(self, number: int) -> list[str]:
        return [self._english.paragraph() for _ in range(number)]

    def _as_served(self, text: str) -> str:
        """With the line ends and odd blanks that servers send."""
        chance = self._dice.number()
        if chance < 0.1:
            return text.replace("\n", "\r\n")
        if chance < 0.2:
            return text.replace(". ", ".\u00a0 ").replace("\n\n", "\n\n\n\n")
        return text


_WRITERS: dict[str, Callable[[Pages], str]] = {
    "good page": Pages.good,
    "blocked site": Pages.good,
    "other language": Pages.foreign,
    "short page": Pages.short,
    "script required": Pages.script_required,
    "navigation": Pages.navigation,
    "keyword spam": Pages.keyword_spam,
    "symbol soup": Pages.symbol_soup,
    "tag cloud": Pages.tag_cloud,
    "lorem ipsum": Pages.lorem_ipsum,
    "cookie notice": Pages.cookie_notice,
    "repeated lines": Pages.repeated_lines,
    "figures": Pages.figures,
    "link list": Pages.link_list,
    "codes": Pages.codes,
    "shouting": Pages.shouting,
}
