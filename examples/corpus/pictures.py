"""Pictures drawn by dice: shapes before a gradient with a fine grain, no two alike."""

from PIL import Image, ImageDraw, ImageFilter

from corpus.drawing import Dice

Colour = tuple[int, int, int]


def drawn(dice: Dice, width: int, height: int) -> Image.Image:
    """A gradient with some shapes in front of it, and a fine grain over all."""
    picture = _gradient(dice, width, height)
    pencil = ImageDraw.Draw(picture)
    for _ in range(dice.between(5, 9)):
        _shape(dice, pencil, width, height)
    return Image.blend(picture, _grain(dice, width, height), 0.12)


def blurred(picture: Image.Image) -> Image.Image:
    return picture.filter(ImageFilter.GaussianBlur(min(picture.size) / 16))


def blank(dice: Dice, width: int, height: int) -> Image.Image:
    return Image.new("RGB", (width, height), _colour(dice))


def _colour(dice: Dice) -> Colour:
    return dice.below(256), dice.below(256), dice.below(256)


def _gradient(dice: Dice, width: int, height: int) -> Image.Image:
    """Four colours, one in each corner, and all that lies between them."""
    corners = Image.new("RGB", (2, 2))
    corners.putdata([_colour(dice) for _ in range(4)])
    return corners.resize((width, height), Image.Resampling.BILINEAR)


def _grain(dice: Dice, width: int, height: int) -> Image.Image:
    side = 48
    grain = Image.new("L", (side, side))
    grain.putdata([dice.below(256) for _ in range(side * side)])
    return grain.resize((width, height), Image.Resampling.NEAREST).convert("RGB")


def _shape(dice: Dice, pencil: ImageDraw.ImageDraw, width: int, height: int) -> None:
    across = sorted((dice.below(width), dice.below(width)))
    down = sorted((dice.below(height), dice.below(height)))
    box = (across[0], down[0], across[1] + 8, down[1] + 8)
    kind = dice.below(3)
    if kind == 0:
        pencil.rectangle(box, fill=_colour(dice))
    elif kind == 1:
        pencil.ellipse(box, fill=_colour(dice))
    else:
        pencil.line(box, fill=_colour(dice), width=dice.between(3, 12))
