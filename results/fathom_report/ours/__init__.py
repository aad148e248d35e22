"""Our own figures: what holds steps and ops back."""
