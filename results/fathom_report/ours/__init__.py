"""Our own figures: what limits the speed of steps and ops."""
