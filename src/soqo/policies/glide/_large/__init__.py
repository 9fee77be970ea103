r"""GLIDE with many dimensions, where a dense posterior of d(d+1)/2 unknowns would cost O(d^4) per round.

Each run has a stream of its own (`_stream`), which keeps the latest readings as rows and represents A in the form for
which there is evidence:

    rows       fewer readings than unknowns: posterior means from the rows, with priors that favor a low rank
    sums       more readings than unknowns, up to about 44 dimensions: the same from sums over all readings
    factored   A = L L' with few columns, by a filter and occasional fits

    row          a reading, with what it contains beside the hitting cost               `_row`
    levels       the noise, the base load and the scale of A                            `_levels`
    estimates    soft, flat and sharp                                                   `_estimates`, `_comparison`
    noise        its size by the errors of predictions                                  `_noise`
    trials       of a factor                                                            `_trials`
    factor       filter, fits and repairs of a factor                                   `_factor_phase`
    suspicion    outliers and changes of A                                              `_suspicion`
    learning     what a reading does to a stream                                        `_learning`
    memory       the streams of a batch                                                 `_memory`
    rounds       actions and readings                                                   `_rounds`
    companion    streams beside a dense posterior, from 10 to 12 dimensions             `_companion`
    reports      diagnostics and words                                                  `_reports`

The estimators are in :mod:`soqo.estimators.lowrank`.
"""
