"""Inspection: looks at a sample of the user's files, and proposes a recipe for them."""
