"""Reports and plots of selections."""

from featgrad.report.facts import Facts
from featgrad.report.gather import gather_facts
from featgrad.report.html import write_report
from featgrad.report.plots import PathDisplay, StabilityDisplay, TimelineDisplay
from featgrad.report.stream import write_stream_report
from featgrad.report.table import summarise

__all__ = [
    "Facts",
    "PathDisplay",
    "StabilityDisplay",
    "TimelineDisplay",
    "gather_facts",
    "summarise",
    "write_report",
    "write_stream_report",
]
