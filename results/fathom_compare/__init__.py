"""Makes a page that compares machines, or versions of LibTorch on one machine."""
