"""The version of soqo, alone in its file so that the build and the package read the same number."""

__version__ = "0.1.0"
