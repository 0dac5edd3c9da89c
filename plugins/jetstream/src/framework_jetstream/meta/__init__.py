"""The meta group: which streams and consumers there are, and which servers have them.

A machine that all servers of the group feed with the same entries; it decides nothing, and does
nothing: the meta leader decides (`leader`), and who feeds it carries out its effects.
"""
