"""Recorded exchanges of the real vLLM, replayed against a server and compared; what a client notices between releases.

recordings --cases--> replay --(expected, got)--> compare --> report
             servers, exchange                     normalise, streams, shapes
"""
