"""The core types of Assay: frozen data, and ports between packages. No I/O; imports no other package."""
