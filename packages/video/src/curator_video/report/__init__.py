"""Pages and report sections that show the clips of a run."""
