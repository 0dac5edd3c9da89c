"""JetStream: streams and consumers of one server, on a log that survives power loss."""

from framework.compiled import import_compiled

import_compiled(__name__)
