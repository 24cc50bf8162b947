"""Sound events: sounds other than speech, such as music, dogs, or applause."""
