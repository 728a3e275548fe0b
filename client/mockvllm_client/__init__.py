"""The other end: an SSE client that stamps what it sees, and a proxy that holds it back. Works with any server."""
