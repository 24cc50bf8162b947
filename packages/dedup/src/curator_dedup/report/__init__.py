"""Reports: which documents duplicate which, for people and for programs."""
