"""Reports to listen to: what each rule kept and dropped of a run's recordings."""
