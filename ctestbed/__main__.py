"""`python -m ctestbed`."""

from ctestbed.cli.main import main

main()
