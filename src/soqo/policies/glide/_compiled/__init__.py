"""GLIDE's rounds as machine code, where the extra ``fast`` is installed; the same results as NumPy's to round-off.

    layout       where the numbers of runs and beliefs are                    `_layout`
    packed       the memory in the form that compiled functions use           `_packed`
    beliefs      one reading and one belief                                   `_belief_update`, `_judgment`
    reviews      fits of the latest readings                                  `_reviewing`, `_base_loads`
    readings     a reading of each run                                        `_quiet_readings`, `_general_readings`
    after it     meters, the latest readings, and the estimate                `_after_reading`
    actions      drift, plan, and probes                                      `_deciding`
    engine       calls of the compiled functions for a batch                  `engine`
    rounds       rounds of the policy, with NumPy's code where they stop      `rounds`

`_layout` and `_packed` import no Numba. The others do, and are imported only if
:func:`soqo._foundation.compilation.can_compile`.
"""
