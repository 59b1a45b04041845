"""Lines of JSON go out as the text they are."""

import schemathesis

schemathesis.serializer.alias("application/x-ndjson", "text/plain")
