"""Numbers for display."""


def count(number: float) -> str:
    """Format a number: `12,345`."""
    return f"{number:,.0f}"


def counted(number: int, thing: str) -> str:
    """Format a count with its noun: `1 file`, `12 files`."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def duration(seconds: float) -> str:
    """Format seconds in at most two units: `0.4 s`, `2 min 5 s`, `3 h 20 min`."""
    if seconds < 9.95:
        return f"{max(seconds, 0):.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    if whole < 86400:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def brief(seconds: float) -> str:
    """Format seconds in two significant digits, for narrow tables: `0.13 ms`, `694 ms`."""
    if not seconds:
        return ""
    if seconds >= 0.9995:
        return duration(seconds)
    text = f"{1000 * seconds:.0f}" if seconds >= 0.00995 else f"{1000 * seconds:.2g}"
    return f"{text} ms"


def rate(per_second: float) -> str:
    """Format a rate: `0.3/s`, `1,200/s`; "" for zero."""
    if per_second <= 0:
        return ""
    return f"{per_second:.1f}/s" if per_second < 9.95 else f"{per_second:,.0f}/s"


def share(part: int, of: int) -> str:
    """Format a percentage: `12.3 %`. Never rounds a small part to 0 or a large one to 100."""
    if not of:
        return ""
    percent = 100 * part / of
    if part and percent < 0.1:
        return "< 0.1 %"
    if part != of and percent > 99.9:
        return "> 99.9 %"
    return f"{percent:.1f} %"


def size(number: float) -> str:
    """Format bytes: `812 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 999.5:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def figure(number: float) -> str:
    """Format a number of any size: `12,345`, `0.1235`, `1.2e+20`."""
    if abs(number) >= 1e15:
        return f"{number:.4g}"
    return count(number) if abs(number) >= 1000 or number == round(number) else f"{number:.4g}"


def estimate(number: float) -> str:
    """Format an estimate in three digits: `1.23 million`, `12,300`."""
    for limit, name in ((1e12, "trillion"), (1e9, "billion"), (1e6, "million")):
        if number >= limit:
            return f"{number / limit:.3g} {name}"
    digits = max(0, len(str(round(number))) - 3)
    return count(round(number, -digits))


def shortened(text: str, longest: int) -> str:
    """Return the text in one line of at most `longest` characters."""
    line = " ".join(text[: 4 * longest].split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"
