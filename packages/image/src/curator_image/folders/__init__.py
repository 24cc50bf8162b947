"""Image folders: pictures as files, with sidecars of the same name."""
