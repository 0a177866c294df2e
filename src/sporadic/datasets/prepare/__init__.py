"""From the raw files of public data sets to a prepared folder, every step counted.

A module per data set has `input_files(raw)`, the raw files it reads (or the sentence that says what to download), and
`prepare(raw, …, progress) -> Prepared`; `folder` writes and reads what comes of it.
"""
