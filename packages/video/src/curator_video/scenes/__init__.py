"""Scene detection: find the shots of a video and make clips of them."""
