"""Events: what is to be heard beside speech, such as music, dogs, or applause."""
