"""Shuffle: bring records of many files together by key, through files on disk."""

from curator_core.io.shuffle.reader import ExchangeReader as ExchangeReader
from curator_core.io.shuffle.writer import ExchangeWriter as ExchangeWriter
