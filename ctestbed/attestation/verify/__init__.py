"""Did this hardware identity sign these bytes, freshly, under a chain to a pinned root?"""
