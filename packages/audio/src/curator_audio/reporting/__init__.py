"""Reports with players: what each rule kept and dropped of a run's recordings."""
