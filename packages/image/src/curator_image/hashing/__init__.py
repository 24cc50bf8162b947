"""Perceptual hashes: bits that stay nearly the same when a picture is saved or scaled anew."""
