"""Workers: the processes that run stages."""
