"""Quality: networks that estimate how listeners would rate a recording."""
