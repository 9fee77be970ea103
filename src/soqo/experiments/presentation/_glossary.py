"""The words of the page that the paper does not have, or that a reader may want to look up."""

from __future__ import annotations

import re
from html import escape

from soqo.experiments.presentation._numbers import render_text
from soqo.experiments.presentation._style import typeset

_TERMS = {
    "to the letter": (
        "The most literal reading: Algorithm 1's gamma^2, radius and handover, the gradient of Section 3.3, the c1 of "
        "the captions, eigenvalues of A that grow linearly from sigma_r, and means over the runs."
    ),
    "as printed": "The paper's text to the letter, with the learning rate xi = 1e-6; the text says about 1e-6.",
    "calibrated": (
        "The same policy with soqo's defaults: a radius from the residual, a direct handover, least squares in place "
        "of an estimate that is zero, the exact gradient, and xi = 1e-8."
    ),
    "soqo": "The library that computed this page.",
    "LAI": "The optimal policy that knows A, by dynamic programming; regret is the cost above LAI's on the same path.",
    "FTM": "Follow the minimizer: x_t = v_t.",
    "POL, OAL": (
        "The paper's learners: LAI with an estimate that takes one gradient step per round, from the noisy (POL) or "
        "the exact (OAL) hitting cost."
    ),
    "SCaLE, HySCaLE": "The paper's policies: explore, estimate A, play LAI with it; HySCaLE then goes on learning.",
    "ROBD": "Regularized online balanced descent, a policy of the literature that knows A. It is not in the paper.",
    "GLIDE": (
        "A policy of soqo that learns from its own movement, without a phase of exploration. It is not in the paper."
    ),
    "radius": (
        "How far the measured costs may be from those of the estimate, in the l1 norm: eta m in Algorithm 1, "
        "|eta|_1 in the "
        "proof; the residual is the smallest possible one, times 1.05."
    ),
    "handover": (
        "Where exploitation starts: at the end of a virtual LAI path (Algorithm 1, lines 8 to 11), or directly at the "
        "last probe (proof of Theorem 3)."
    ),
    "spectrum": "The eigenvalues of A. The paper gives the smallest, sigma_r; the others are our choice.",
    "reading": "One choice for each thing that the paper's text leaves open: the columns of the matrix of claims.",
    "exponent": "p in regret ~ T^p, by least squares of log regret on log T over the horizons.",
    "RUB": "Restricted uniform boundedness: C1 and C2 bound the mean response of queries to a matrix of a rank.",
    "cannot be told": "The 95 % bootstrap interval over the runs contains the threshold; more runs (--runs) settle it.",
    "holds in part": "It holds in some of the settings that it is about, and fails in others.",
    "not contradicted": (
        "A theorem that random cases or simulations do not violate. That is no proof; docs/explanation/theory.md "
        "has proofs."
    ),
    "docs/explanation/theory.md": (
        "The page on theory in soqo's documentation and sources: exact formulas, corrected constants, and proofs."
    ),
    "trimmed mean": "A mean without the upper and the lower tenth of the runs, where a mean does not exist.",
    "implied": "No sentence of the paper states it, but a figure is there to show it. Such claims are counted apart.",
}
"""The terms in the order of the page."""


def render_glossary() -> str:
    """Return a card with all terms."""
    items = "\n".join(
        f'<div id="{_anchor(name)}"><dt>{escape(name)}</dt><dd>{render_text(text)}</dd></div>'
        for name, text in _TERMS.items()
    )
    return f'<section id="terms" class="card">\n<h2>Terms</h2>\n<dl class="terms">\n{items}\n</dl>\n</section>'


def render_term(name: str, shown: str | None = None) -> str:
    """Return a link to a term, with its meaning as a tooltip.

    Examples
    --------
    >>> render_term("soqo", "soqo's")
    '<a class="term" href="#term-soqo" title="The library that computed this page.">soqo&#x27;s</a>'
    """
    told = escape(typeset(_TERMS[name]), quote=True)
    return f'<a class="term" href="#{_anchor(name)}" title="{told}">{escape(shown or name)}</a>'


def _anchor(name: str) -> str:
    return f"term-{re.sub(r'[^a-z0-9]+', '-', name.lower())}"
