"""Which language a text is in, and which scripts it is written with."""
