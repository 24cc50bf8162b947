"""Styles of the report page, for light and dark mode."""

STYLE = """
:root { color-scheme: light dark; --line: #8884; --bar: #c62; --good: #185; --bad: #b22; }
@media (prefers-color-scheme: dark) { :root { --good: #5c9; --bad: #f77; --bar: #e85; } }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 78rem; margin: 2rem auto; padding: 0 1rem; }
h1 { margin: 0 } h2 { margin: 2rem 0 .5rem; font-size: 1.15rem }
h3 { margin: 1rem 0 .3rem; font-size: 1rem }
.good, .bad, .going { font-size: 1.2rem; font-weight: 600 } .good { color: var(--good) }
.bad { color: var(--bad) }
table { border-collapse: collapse; display: block; overflow-x: auto }
th, td { padding: .2rem .9rem .2rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--line) }
.figures td:nth-child(n+2), .figures th:nth-child(n+2) { text-align: right; white-space: nowrap;
  padding-right: .6rem;
  font-variant-numeric: tabular-nums }
.figures td:first-child, .figures th:first-child { position: sticky; left: 0; background: Canvas }
td { overflow-wrap: anywhere } .figures td { overflow-wrap: normal }
.bar { display: inline-block; width: 8rem; height: .7rem; background: var(--line) }
.bar i { display: block; height: 100%; background: var(--bar) }
pre { white-space: pre-wrap; word-break: break-word; background: #8881; padding: .5rem }
summary { cursor: pointer } dt { font-weight: 600 }
"""

PLOTS = """
:root { --c0: #2a6fb0; --c1: #d08a1f; --c2: #3c8f5a; --c3: #b2456e; --c4: #7a62b8 }
@media (prefers-color-scheme: dark) {
  :root { --c0: #6cb2f0; --c1: #f0b95c; --c2: #74c994; --c3: #ee86ab; --c4: #b29cf0 } }
.advice { font-weight: 600 } small { font-weight: 400; opacity: .8 }
.funnel p { display: grid; grid-template-columns: 1fr max-content; gap: .1rem .8rem;
  margin: .3rem 0; max-width: 60rem }
.funnel span { overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
.funnel b { background: var(--line); height: .8rem; grid-column: 1 / -1 }
.funnel i { display: block; height: 100%; background: var(--c0) }
.plot { margin: 0 0 1rem } .plot svg { display: block; width: 100%; height: 7rem;
  border-bottom: 1px solid var(--line) }
.key { margin-right: 1rem; white-space: nowrap; display: inline-block; max-width: 100%;
  overflow: hidden; text-overflow: ellipsis }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem }
polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
polygon.c0 { fill: var(--c0) } polygon.c1 { fill: var(--c1) } polygon.c2 { fill: var(--c2) }
polygon.c3 { fill: var(--c3) } polygon.c4 { fill: var(--c4) }
polyline.c0 { stroke: var(--c0) } polyline.c1 { stroke: var(--c1) }
polyline.c2 { stroke: var(--c2) } polyline.c3 { stroke: var(--c3) }
polyline.c4 { stroke: var(--c4) }
i.c0 { background: var(--c0) } i.c1 { background: var(--c1) } i.c2 { background: var(--c2) }
i.c3 { background: var(--c3) } i.c4 { background: var(--c4) }
code { background: #8882; padding: .1rem .3rem; border-radius: 3px; overflow-wrap: anywhere }
@media (max-width: 40rem) { body { margin: 1rem auto } summary { overflow-wrap: anywhere }
  .figures td:first-child { overflow-wrap: anywhere }
  .wide td:first-child, .wide th:first-child { min-width: 8rem; max-width: 9rem } }
"""

SCORES = """
.scores { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22rem, 100%), 1fr));
  gap: .5rem 2rem }
figure { margin: 0 } figure h3 { margin: .5rem 0 0; font-size: 1rem; overflow-wrap: anywhere }
.scores .histogram { font-size: 20px } figcaption { font-size: .85rem; opacity: .8 }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: .2rem 1rem }
.sides > div { min-width: 0 } .sides pre { margin: 0 }
.sample { margin: .8rem 0 .2rem; font-size: .9rem; overflow-wrap: anywhere }
del, ins { text-decoration: none; border-radius: 2px } del { background: #e5534b55 }
ins { background: #2da04a55 }
@media (max-width: 40rem) { .sides { grid-template-columns: 1fr } }
"""
