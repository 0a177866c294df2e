"""MIMIC-III: the cohort, variables and records of the paper."""
