"""A report: one HTML file that holds everything, figures too, and asks nothing of the network or of scripts."""

from sporadic.report.report import COMMANDS, write_report

__all__ = ["COMMANDS", "write_report"]
