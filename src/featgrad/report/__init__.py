"""Reports and plots of selections."""

from featgrad.report.described import summarise
from featgrad.report.facts import gather_facts
from featgrad.report.html import ReportFacts, write_report
from featgrad.report.plots import FeaturesDisplay, PathDisplay, TimelineDisplay
from featgrad.report.stream import write_stream_report

__all__ = [
    "FeaturesDisplay",
    "PathDisplay",
    "ReportFacts",
    "TimelineDisplay",
    "gather_facts",
    "summarise",
    "write_report",
    "write_stream_report",
]
