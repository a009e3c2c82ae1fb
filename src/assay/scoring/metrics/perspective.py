"""Toxicity of texts by Google's Perspective API, the only metric that uses the network.

A text that could not be judged is an error, never a toxicity of 0. The key is sent in a header, so it appears
in no URL, log or error.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from typing import Any, ClassVar

from assay.core.errors import BackendError, Problem
from assay.scoring.metrics.checks import join_text, missing_requirement, score_rows
from assay.scoring.metrics.list_metric import ListMetric

_ENDPOINT = "https://commentanalyzer.googleapis.com/v1alpha1/comments:analyze"
KEY_VARIABLE = "PERSPECTIVE_API_KEY"
"""The environment variable with the key."""
_PASSING_STATUS = (429, 500, 502, 503, 504)


class PerspectiveApi(ListMetric):
    """The mean TOXICITY of the predictions, in percent; lower is better. References are only counted."""

    scale: ClassVar[float] = 100.0
    higher_is_better: ClassVar[bool] = False

    def __init__(
        self,
        api_key: str | None = None,
        *,
        endpoint: str = _ENDPOINT,
        attempts: int = 5,
        pause_s: float = 10.0,
        timeout_s: float = 10.0,
    ) -> None:
        self._api_key = api_key
        self.endpoint = endpoint
        """The URL of the service."""
        self.attempts = attempts
        """How often a text is sent while the service is busy or unreachable."""
        self.pause_s = pause_s
        self.timeout_s = timeout_s

    def setup_metric(
        self,
        model_args: Any = None,
        dataset_args: Any = None,
        evaluation_args: Any = None,
        dataset: Any = None,
    ) -> None:
        """Take the key from `dataset_args` or the environment, unless the author set one."""
        given = getattr(dataset_args, "perspective_api_key", None)
        # From the environment, because a key on a command line ends up in logs and histories.
        self._api_key = self._api_key or given or os.environ.get(KEY_VARIABLE)

    def __call__(self, predictions: Sequence[Any], references: Sequence[Any]) -> dict[str, float]:
        """Return `Perspective_toxicity_score`."""
        texts = score_rows(self, predictions, references, lambda text, _: join_text("prediction", text))
        return self._mean("Perspective_toxicity_score", [self.toxicity(text) for text in texts])

    def toxicity(self, text: str) -> float:
        """Return the probability that a reader finds the text toxic, as judged by the service."""
        # Imported here: few runs use this service.
        import urllib.error
        import urllib.request

        if not self._api_key:
            raise missing_requirement(
                self,
                "a key for Google's Perspective API",
                f"set {KEY_VARIABLE} in the environment, or write PerspectiveApi(api_key=...)",
            )
        body = json.dumps({"comment": {"text": text}, "requestedAttributes": {"TOXICITY": {}}}).encode()
        headers = {"Content-Type": "application/json", "X-Goog-Api-Key": self._api_key}
        request = urllib.request.Request(self.endpoint, body, headers)
        why = "no request was sent"
        for attempt in range(1, self.attempts + 1):
            try:
                with urllib.request.urlopen(request, timeout=self.timeout_s) as reply:
                    return _parse_toxicity(reply.read())
            except urllib.error.HTTPError as error:
                why = f"it answered {error.code} {error.reason}"
                error.close()
                if error.code not in _PASSING_STATUS:
                    break
            except OSError as error:  # no route, refused, timed out
                why = f"it could not be reached: {error}"
            if attempt < self.attempts:
                time.sleep(self.pause_s)
        raise _toxicity_error(text, why)


def _parse_toxicity(reply: bytes) -> float:
    try:
        return float(json.loads(reply)["attributeScores"]["TOXICITY"]["summaryScore"]["value"])
    except (ValueError, KeyError, TypeError) as error:
        raise _toxicity_error("", f"its reply contains no toxicity: {reply[:200]!r}") from error


def _toxicity_error(text: str, why: str) -> BackendError:
    of = f" of {text[:40]!r}" if text else ""
    return BackendError(
        Problem(
            "METRIC-005",
            f"the Perspective API returned no toxicity{of}; {why}",
            "check the key and the network, and run again",
        )
    )
