"""Selection on streams: which features matter now, rows forgotten with a half-life."""
