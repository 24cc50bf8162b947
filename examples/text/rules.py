"""Rules of our own, for `pretraining.yaml`."""

SHOP_WORDS = ("add to cart", "free shipping", "checkout")


def no_shop(text: str) -> bool:
    """Keep pages that do not read like a shop."""
    page = text.lower()
    return sum(word in page for word in SHOP_WORDS) < 2
