"""How the report looks, by day and by night."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #c62; --good: #185; --bad: #b22; }
@media (prefers-color-scheme: dark) { :root { --good: #5c9; --bad: #f77; --bar: #e85; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin: 0 } h2 { margin: 2rem 0 .5rem; font-size: 1.1rem }
.good, .bad { font-size: 1.2rem; font-weight: 600 } .good { color: var(--good) }
.bad { color: var(--bad) }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
.figures td:nth-child(n+2), .figures th:nth-child(n+2) { text-align: right; white-space: nowrap;
  font-variant-numeric: tabular-nums }
td { overflow-wrap: anywhere } .figures td { overflow-wrap: normal }
.bar { display: inline-block; width: 8rem; height: .7rem; background: var(--line) }
.bar i { display: block; height: 100%; background: var(--bar) }
pre { white-space: pre-wrap; word-break: break-word; background: #8881; padding: .5rem }
summary { cursor: pointer } dt { font-weight: 600 }
"""
