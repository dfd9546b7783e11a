"""What is asked stays short: schemathesis waits for each answer. And integers are written as such: for JSON Schema 5000.0 is one, here it
is none."""
import schemathesis

LONGEST_WAIT_MS = 50


def with_integers(value):
    if isinstance(value, dict):
        return {key: with_integers(one) for key, one in value.items()}
    if isinstance(value, list):
        return [with_integers(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


@schemathesis.hook
def map_body(_context, body):
    body = with_integers(body)
    if isinstance(body, dict) and isinstance(body.get("within_ms"), int):
        body["within_ms"] = min(body["within_ms"], LONGEST_WAIT_MS)
    return body
