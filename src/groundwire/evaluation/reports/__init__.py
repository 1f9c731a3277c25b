"""Reports on a file of results: an HTML page, Markdown for a pull request, JUnit XML for CI.

``summary.py`` reads the results and summarizes them. ``html.py``, ``markdown.py`` and ``junit.py``
write reports from the summary; ``junit.py`` needs all rows, and reads the results again. Ids,
answers, columns and file names are not trusted, so each report escapes them: markup in them has no
effect.
"""
