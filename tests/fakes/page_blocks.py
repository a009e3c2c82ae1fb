"""The data inside a page that is a single HTML file."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any


def read_blocks(page: str) -> dict[str, Any]:
    """Return the JSON blocks of a page by name, as a browser would read them."""
    found = re.findall(r'<script type="application/gzip" id="([\w-]+)">([A-Za-z0-9+/=]*)</script>', page)
    return {name: json.loads(gzip.decompress(base64.b64decode(packed))) for name, packed in found}
