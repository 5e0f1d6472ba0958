"""Downstream tasks: labelled texts and minimal pairs from files, without code."""
