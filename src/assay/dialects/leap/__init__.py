"""Task classes as LEAP and the first generation of the classic harness write them, with their registry."""
