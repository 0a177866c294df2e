"""The paper's tables and figures, one file each, and what they share: trials, their store, and who carries them out.

A `Trial` is one fit as plain data. A `Store` keeps what came of it under a key of data, model, options and fold, so
that nothing finished is done twice. A crew (`crews.py`) carries trials out, on this machine or on a Ray cluster.
`measure` (`measuring.py`) is the one way from trials to a table: fit, choose on validation, and only then read the test
sets.
"""
