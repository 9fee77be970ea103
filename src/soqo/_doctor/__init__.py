"""What is installed, and whether it works: for users whose installation does not, and for bug reports."""
