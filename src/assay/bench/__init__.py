"""Serving benchmarks: items, load schedules, request timings and their summaries. Protocol-independent."""
