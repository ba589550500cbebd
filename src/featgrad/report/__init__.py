"""Reports and plots of selections."""

from featgrad.report.facts import Facts
from featgrad.report.gather import gather_facts
from featgrad.report.html import write_report
from featgrad.report.plots.estimates import OrderDisplay, PathDisplay
from featgrad.report.plots.features import ComparisonDisplay, MaskDisplay, StabilityDisplay
from featgrad.report.plots.timeline import TimelineDisplay
from featgrad.report.stream import write_stream_report
from featgrad.report.table import summarise

__all__ = [
    "ComparisonDisplay",
    "Facts",
    "MaskDisplay",
    "OrderDisplay",
    "PathDisplay",
    "StabilityDisplay",
    "TimelineDisplay",
    "gather_facts",
    "summarise",
    "write_report",
    "write_stream_report",
]
