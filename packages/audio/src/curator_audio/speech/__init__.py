"""Speech: where it is, and the segments that follow from that."""
