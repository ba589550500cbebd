"""Selection on streams: generated and real ones, against peers."""
