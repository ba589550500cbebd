"""Speed and memory, each figure a ratio of things measured side by side in one run."""
