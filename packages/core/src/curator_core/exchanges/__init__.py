"""Exchanges: records of many files brought together by a key, through files in between."""

from curator_core.exchanges.reading import ExchangeReader as ExchangeReader
from curator_core.exchanges.writing import ExchangeWriter as ExchangeWriter
