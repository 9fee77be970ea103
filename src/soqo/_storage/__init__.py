"""Files: records as data, as bytes, in files that are whole or absent, and in journals."""
