"""How our benchmarks measure, and how they show what they found."""
