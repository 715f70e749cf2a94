"""The version, in one place that costs nothing to import; a test holds it against the package's metadata."""

VERSION = "0.1.0"
