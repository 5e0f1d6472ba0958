"""The pages of a report, as Jinja templates."""
