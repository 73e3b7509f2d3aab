"""Retries of requests that the service behind did not answer in time."""

import time

ATTEMPTS = 2
PAUSE = 0.25  # seconds


def call(send, request):
    """Send a request, and once more if the first attempt timed out."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            return send(request)
        except TimeoutError:
            if attempt == ATTEMPTS:
                raise
            time.sleep(PAUSE * attempt)
