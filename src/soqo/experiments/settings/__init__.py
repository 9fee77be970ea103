"""What to simulate: settings as data, the paper's catalogue, and the policies that a file can name."""
