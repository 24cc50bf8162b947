"""Rules that drop documents, one stage each, grouped by what they examine."""
