"""CSS of pages with players."""

from curator_core.reporting.histograms import HISTOGRAM_STYLE

STYLE = (
    HISTOGRAM_STYLE
    + """
.sheet { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 19rem), 1fr));
  gap: 1rem; margin: .3rem 0 1rem }
.wide { grid-template-columns: 1fr }
figure { margin: 0; font-size: .8rem; line-height: 1.35; min-width: 0 }
figcaption { overflow-wrap: anywhere; margin-top: .2rem }
.length { opacity: .7; white-space: nowrap }
.sound { width: 100%; height: 8.5rem; display: block; background: #8881 }
.sound .wave { fill: #58a }
.sound rect { fill-opacity: .12; stroke-width: 2; vector-effect: non-scaling-stroke }
.sound rect.kept { fill: #2c6; stroke: #2c6 } .sound rect.dropped { fill: #f33; stroke: #f33 }
.sound rect.speech { fill: #fff; stroke: #fff; stroke-dasharray: 5 3 }
audio { width: 100%; height: 2.2rem; display: block; margin-top: .25rem }
.gone { border: 1px dashed var(--line); padding: .6rem; opacity: .7 }
.spans span { display: inline-block; width: .8rem; height: .8rem; margin: 0 .3rem 0 1rem;
  vertical-align: -1px; border: 2px solid }
.charts { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 30rem), 1fr));
  gap: 0 2rem }
h1 { overflow-wrap: anywhere } h3 { margin: 1rem 0 .2rem; font-size: .95rem }
"""
)
