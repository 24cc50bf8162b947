"""Rule sets: published rules for web text, each as one stage with several reasons."""
