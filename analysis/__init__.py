"""What came out: tables, figures and a report, generated from the records of runs. Never imports torch."""
