"""Tables, figures and HTML pages."""
