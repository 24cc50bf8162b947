"""CSS for pages with clips."""

STYLE = """
.strips { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(20rem, 100%), 1fr));
  gap: .8rem 1rem; margin: .3rem 0 1rem }
.strips figure { margin: 0; font-size: .75rem; line-height: 1.35 }
.strips img { max-width: 100%; max-height: 110px; display: block; margin-bottom: .2rem }
.strips figcaption { overflow-wrap: anywhere } .strips b { font-weight: 600 }
.strips .scores { opacity: .8 }
.gone { height: 84px; border: 1px dashed var(--line); padding: .4rem; box-sizing: border-box;
  opacity: .7; overflow: auto }
.video { margin: 0 0 1rem } .video h3 { margin: 0 0 .2rem; font-size: .95rem;
  overflow-wrap: anywhere }
.line { width: 100%; height: 26px; display: block } .line .film { fill: var(--line) }
.line .kept { fill: var(--good) } .line .dropped { fill: var(--bar) }
.times { display: flex; justify-content: space-between; font-size: .72rem; opacity: .8;
  font-variant-numeric: tabular-nums }
.video details { font-size: .8rem } .video ol { margin: .2rem 0; columns: 16rem }
.key { margin: 0 0 .6rem; display: flex; flex-wrap: wrap; gap: .1rem 1rem }
.key i { display: inline-block; width: .8rem; height: .8rem; margin-right: .3rem;
  vertical-align: -1px }
.failures { padding-left: 0; list-style: none; font-size: .9rem }
.failures b { margin-right: .4rem }
.failures li { margin: 0 0 .4rem; overflow-wrap: anywhere }
"""
