"""Texts that would be more than text, were they shown as anything else."""

from __future__ import annotations

from playwright.sync_api import Page

HOSTILE = [
    "<script>document.title = 'hacked'; alert(1)</script>",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "<svg onload=alert(1)><a xlink:href='javascript:alert(1)'><text>x</text></a></svg>",
    "</style><style>* { display: none !important }</style>",
    "<style>body { background: url(http://evil.example/x) }</style>",
    "<a href='javascript:alert(1)'>click</a> javascript:alert(1)",
    "<iframe srcdoc='<script>parent.alert(1)</script>'></iframe>",
    "<base href='http://evil.example/'><form action='http://evil.example'><button>go</button></form>",
    "<meta http-equiv='refresh' content='0;url=http://evil.example'>",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)} <%= alert(1) %>",
    "\u202egnirts desrever\u202c \u2066isolated\u2069 \u200bzero\u200bwidth\ufeff",
    "null \x00 byte \x1b[31mred\x1b[0m \x07",
    "] ]]> --> <!-- <![CDATA[ ",
    "&lt;script&gt;alert(1)&lt;/script&gt;",
    "x" * 1_000_000,
    "مرحبا " * 200 + "한국어 " * 200 + "中文" * 400,
    "Z̸̢̛a̶̧̛l̷̨̛g̴̡̛ö̵́" * 200,
    '"onmouseover="alert(1)" x="',
]


def require_text_alone(page: Page) -> None:
    """Fail where such a text has become a part of the page, or has made it wider than its window."""
    assert "hacked" not in page.title()
    assert (
        page.locator("main script, main iframe, main style, main base, main meta, main object").count() == 0
    )
    assert page.locator("[onload], [onerror], [onmouseover], [srcdoc]").count() == 0
    assert page.locator("a[href^='javascript']").count() == 0
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
