"""Resizing: pictures made smaller, cut, bordered or encoded anew."""
