"""Reports: which documents were found to be duplicates of which, for people and for programs."""
