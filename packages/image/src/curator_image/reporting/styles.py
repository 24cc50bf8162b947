"""CSS for pages with pictures."""

from curator_core.reporting.histograms import HISTOGRAM_STYLE

STYLE = (
    f"""{HISTOGRAM_STYLE}"""
    """
.sheet { display: flex; flex-wrap: wrap; gap: .5rem; margin: .3rem 0 1rem }
.sheet figure { margin: 0; width: 144px; font-size: .72rem; line-height: 1.25 }
.sheet img { max-width: 144px; max-height: 144px; display: block }
.sheet figcaption { overflow-wrap: anywhere }
.sheet .best { outline: 3px solid var(--good); outline-offset: -3px }
.gone { width: 144px; height: 80px; border: 1px dashed var(--line); padding: .4rem;
  box-sizing: border-box; opacity: .7 }
h3 { margin: 1rem 0 .2rem; font-size: .95rem }
"""
)
