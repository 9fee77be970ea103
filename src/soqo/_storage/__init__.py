"""Files: records as plain data and as bytes, sealed files, atomic replacement, and journals."""
