"""Sets: the published rule sets for web text, each as one stage with several reasons."""
